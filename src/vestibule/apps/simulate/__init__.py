"""Doubles of clouds that users can run: what we send to a cloud, tried without one."""
