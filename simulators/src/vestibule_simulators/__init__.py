"""Simulators of clouds, for tests, the demo and ``vestibule simulate``."""
