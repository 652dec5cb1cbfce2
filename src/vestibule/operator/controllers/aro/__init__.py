"""ARO HCP clusters: the shell around the decisions of ``core.aro``."""
