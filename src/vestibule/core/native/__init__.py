"""The same policy as API-server objects: webhook configuration, RBAC, workloads, admission policies.
Pure and deterministic."""
