"""Words: every annotation key, kind, selector and setting, and nothing that acts on them."""
