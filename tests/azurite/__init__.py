"""Azurite, Microsoft's own double of blob storage, over HTTPS: installed once, started per session."""
