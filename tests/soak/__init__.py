"""`make soak`: admissions through the real API server while everything around the webhook fails in turn."""
