"""The supported dialects, one module each."""
