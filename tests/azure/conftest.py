"""The simulator, for every test here."""

from tests.azure.simulator import simulator

__all__ = ["simulator"]
