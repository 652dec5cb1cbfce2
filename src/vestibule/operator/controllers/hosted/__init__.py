"""The webhook beside a hosted control plane. Pure: objects and the time go in, objects and decisions come
out; who reads and writes them stands elsewhere."""
