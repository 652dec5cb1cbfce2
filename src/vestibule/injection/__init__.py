"""The decision about one pod: dialects read annotations, providers plan, the guard judges. Pure."""
