"""Conclusions of doctor and audit: facts in, checks out. Pure; callers read everything beforehand."""
