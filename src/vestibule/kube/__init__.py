"""A small Kubernetes client: requests, informers, caches, leases, kubeconfigs, and manifests as a cluster."""
