"""A program that has the clouds' SDKs imported and forks for every login, so that none of them pays for it.

``python -I forks.py SOCKET NAMES``. Each login is a process of its own: environment, working directory, standard
streams and arguments are those that were asked for, and it imports, opens and connects what it would in a new
interpreter; the audit hook of ``login.py`` is in it alone. What a library reads of the environment while it is
imported would be the environment of this program, which is empty: those names are written to NAMES, for the
other side starts a new interpreter for who sets one. It ends when its standard input does.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

LOGIN = Path(__file__).with_name("login.py")
SDKS = (
    "boto3",
    "botocore.httpsession",
    "botocore.tokens",
    "google.auth",
    "google.auth.compute_engine",
    "google.auth.identity_pool",
    "google.auth.transport.requests",
    "azure.identity",
    "msal",
)
"""Imported once; what an SDK imports besides, while it logs in, each login imports for itself."""


class Noted(os._Environ[str]):
    """The environment, which remembers the names that it is asked for."""

    names: set[str]

    @classmethod
    def instead_of(cls, usual: os._Environ[str]) -> Noted:
        made = cls(usual._data, usual.encodekey, usual.decodekey, usual.encodevalue, usual.decodevalue)  # type: ignore[attr-defined]
        made.names = set()
        return made

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)


def imported() -> tuple[ModuleType, set[str]]:
    """The program of a login, and the names of variables that anything read while the SDKs were imported."""
    noted = os.environ = Noted.instead_of(os.environ)
    for name in SDKS:
        importlib.import_module(name)
    spec = importlib.util.spec_from_file_location("login", LOGIN)
    if spec is None or spec.loader is None:
        raise ImportError(str(LOGIN))
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program, set(noted.names)
