"""The simulator, for every test here."""

from tests.azure.scenario import fresh
from tests.azure.simulator import simulator

__all__ = ["fresh", "simulator"]
