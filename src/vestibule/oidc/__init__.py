"""OpenID Connect as values: tokens, keys and discovery documents, read and compared. No I/O, no clock."""
