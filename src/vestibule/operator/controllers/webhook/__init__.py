"""The webhook in the cluster whose pods it serves: read, desired, apply, status."""
