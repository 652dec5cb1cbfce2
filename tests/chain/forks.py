"""A program that has the clouds' SDKs imported and forks for every login, so that none of them pays for it.

``python -I forks.py SOCKET``. Each login is a process of its own, with the environment, working directory and
standard streams that were asked for and nothing else: this program has no environment, opens nothing and has
no thread. A library that reads the environment while it is imported would see that of this program, so such a
one is imported by each login for itself; should another begin to, the program ends with its name. The other
side is ``sdks.py``. It ends when its standard input does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Job = dict[str, Any]
IMPORTED = ("boto3", "requests", "azure.identity", "msal")
"""google.auth is not among them: it looks for its settings while it is imported."""
HARMLESS = {"HOME", "PATH"}
"""Read while botocore and azure.identity are imported, too: for folders that are empty in every container here
(``empty``), and by a look at the machine's name."""
