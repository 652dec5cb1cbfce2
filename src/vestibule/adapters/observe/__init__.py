"""Logs, metrics and the audit line."""
