"""Templates of a complete ARO HCP cluster, filled from a few answers."""
