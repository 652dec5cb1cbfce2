"""The doctor: reads a cluster, an issuer and tokens, and tells what keeps pods from their identity. Never
writes."""
