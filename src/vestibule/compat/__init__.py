"""Command lines of the upstream webhooks, as data: flags, variables, and how Go reads them. Pure."""
