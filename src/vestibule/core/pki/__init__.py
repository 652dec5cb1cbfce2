"""Keys and certificates as PEM in memory, never in files."""
