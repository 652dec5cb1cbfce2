"""One package per kind that the operator reconciles."""
