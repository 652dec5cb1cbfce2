"""Whether pods have what they ask for: looked at from time to time, told, and mended where that is wanted."""
