"""Changing over from another identity webhook: reads a cluster or manifests, and writes nothing."""
