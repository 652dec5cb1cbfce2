"""Audit of running pods: the pod scan, its summary, and the eviction of pods without their identity."""
