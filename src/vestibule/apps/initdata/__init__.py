"""Building and looking at initdata."""
