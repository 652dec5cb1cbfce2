"""Keys and certificates as PEM in memory: CA, leaf, rotation, TLS Secret. Pure."""
