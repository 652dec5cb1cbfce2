"""The rig's fixtures for every test in this folder."""

from tests.rig.fixtures import (
    control_plane,
    guest_pair,
    namespace,
    private_control_plane,
    pytest_collection_finish,
    pytest_terminal_summary,
)

__all__ = [
    "control_plane",
    "guest_pair",
    "namespace",
    "private_control_plane",
    "pytest_collection_finish",
    "pytest_terminal_summary",
]
