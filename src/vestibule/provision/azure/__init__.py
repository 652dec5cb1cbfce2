"""``vestibule azure``: an issuer in a storage account, managed identities, federated credentials, files."""
