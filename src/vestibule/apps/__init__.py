"""The rooms: processes and tools, strangers to each other."""
