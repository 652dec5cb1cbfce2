"""Pods that should have been served and were not: what was found, told and mended, as values. No I/O."""
