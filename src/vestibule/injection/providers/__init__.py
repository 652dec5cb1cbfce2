"""Claims to plans. A provider knows no annotation key."""
