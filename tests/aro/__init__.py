"""ARO HCP clusters on a real API server: Cluster API's own manager, a guest, and a double of Azure Service
Operator."""
