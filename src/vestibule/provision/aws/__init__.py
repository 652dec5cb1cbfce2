"""``vestibule aws``: an issuer in a bucket, an IAM provider, roles for CredentialsRequests, files."""
