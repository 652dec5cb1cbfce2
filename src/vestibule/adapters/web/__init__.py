"""Addresses that anybody may give us, read with limits: documents over HTTPS, and TLS handshakes."""
