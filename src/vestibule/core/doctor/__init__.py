"""What a doctor concludes: facts in, Checks out. No I/O and no clock; whoever calls has read everything."""
