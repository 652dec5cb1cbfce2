"""The doctor: reads a cluster, an issuer and tokens, and reports why pods lack their identity. Never
writes."""
