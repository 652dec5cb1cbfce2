"""Command lines of other programs, accepted as they are: ccoctl, azwi, and the upstream webhooks."""
