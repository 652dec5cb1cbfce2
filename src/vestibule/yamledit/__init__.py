"""YAML text: documents with line numbers, and edits that leave all other text as it is."""
