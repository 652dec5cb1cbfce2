"""What users write: one module per kind, every annotation key, conditions, settings. Pure."""
