"""``vestibule gcp``: a pool, an issuer, service accounts for CredentialsRequests, files."""
