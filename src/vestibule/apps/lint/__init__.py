"""Linting manifests."""
