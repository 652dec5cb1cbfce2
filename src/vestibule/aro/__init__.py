"""ARO HCP clusters: Cluster API kinds that carry Azure Service Operator resources inside them. Pure."""
