"""A program that has the clouds' SDKs imported and forks for every login, so that none of them pays for it.

``python -I forks.py``; ``sdks.py`` is the other side. Each login is a process of its own, with the
environment, working directory, arguments and standard streams that were asked for and no other open file.
What libraries read of the environment while they are imported they read here, so the first line of output
names those variables: who sets one needs a new interpreter. It ends when its standard input does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import traceback
from typing import IO, Any

Job = dict[str, Any]
IMPORTED = (
    "boto3",
    "google.auth.compute_engine",
    "google.auth.identity_pool",
    "google.auth.transport.requests",
    "azure.identity",
    "msal",
)


class Noted(os._Environ[str]):
    """The environment, which remembers the names that it was asked for."""

    def __init__(self, usual: Any) -> None:
        super().__init__(usual._data, usual.encodekey, usual.decodekey, usual.encodevalue, usual.decodevalue)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(str(name))
        return super().__getitem__(name)


def read_while_imported() -> list[str]:
    """Import the SDKs; the variables that this asked for."""
    noted = os.environ = Noted(os.environ)
    for name in IMPORTED:
        importlib.import_module(name)
    return sorted(noted.names)


def serve(listener: socket.socket) -> None:
    """A process per connection, until nobody holds our standard input any more."""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        running -= {child for child in running if os.waitpid(child, os.WNOHANG) != (0, 0)}
        connection, _ = listener.accept()
        with connection:
            child = os.fork()
            if child == 0:
                answer(connection)
                os._exit(0)
            running.add(child)


def answer(connection: socket.socket) -> None:
    """Read what to run, run it, say how it ended."""
    with (
        connection.makefile("rwb") as stream,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        job = json.loads(stream.readline())
        child = os.fork()
        if child == 0:
            run(job, out, err)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
        signal.alarm(job["seconds"])
        _, status = os.waitpid(child, 0)
        reported: dict[str, int | str] = {"code": os.waitstatus_to_exitcode(status)}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            reported[name] = file.read().decode(errors="replace")
        stream.write(json.dumps(reported).encode())


def run(job: Job, out: IO[bytes], err: IO[bytes]) -> None:
    """In the login's own process, which ends here: become the program."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(job["folder"])
        os.environ.clear()
        os.environ.update(job["environment"])
        sys.argv = [job["program"], *job["arguments"]]
        runpy.run_path(job["program"], run_name="__main__")
        code = 0
    except BaseException:  # noqa: BLE001 - the process ends here, whatever happened
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    names = read_while_imported()
    gc.collect()
    gc.freeze()  # what is never touched is never copied
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(json.dumps({"port": listener.getsockname()[1], "names": names}), flush=True)
        serve(listener)


if __name__ == "__main__":
    main()
