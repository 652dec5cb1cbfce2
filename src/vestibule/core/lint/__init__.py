"""Rules over manifests, before they reach a cluster. Pure."""
