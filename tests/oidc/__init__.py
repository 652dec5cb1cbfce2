"""Keys, documents, publication and rotation of an issuer."""
