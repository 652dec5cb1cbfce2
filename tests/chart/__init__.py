"""The Helm chart, rendered and installed by real Helm."""
