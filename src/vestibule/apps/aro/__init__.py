"""ARO HCP clusters offline: manifests checked, planned and drawn before anything is created."""
