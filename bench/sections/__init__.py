"""One module per section of the result table; each has `measure(rig) -> list[Figure]` and shares no state."""
