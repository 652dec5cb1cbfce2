"""Vestibule: every pod that enters a cluster passes one hall and leaves it with its cloud identity and its
sandbox.

Four floors, imports go down only: ``cli`` (the door) > ``apps`` (the rooms) > ``adapters`` (the pipes) >
``core`` (the thought).
"""

__version__ = "0.1.0"
