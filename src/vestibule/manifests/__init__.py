"""Kubernetes objects that we render: CRDs, RBAC, workloads, webhook configurations, policies. Pure."""
