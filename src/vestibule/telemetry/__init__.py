"""Logs, metrics, audit lines and traces."""
