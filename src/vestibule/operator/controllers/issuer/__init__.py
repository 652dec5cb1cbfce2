"""Keeps what is published about the cluster's issuer equal to what the cluster says itself."""
