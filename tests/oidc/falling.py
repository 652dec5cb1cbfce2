"""``python -m tests.oidc.falling SITE FOLDER NOW SWITCHED N``: one call of a rotation that is killed, as by
kill -9, when it flushes a file for the Nth time. Exit code 0 when it is not, with the next thing to do."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from vestibule.clouds.objectstore.directory import Directory
from vestibule.provision import rotation

ISSUER = "https://id.example.com"


def main(site: str, folder: str, now: str, switched: str, fatal: str) -> None:
    flush, calls = os.fsync, iter(range(1, 1_000))

    def fsync(file: int) -> None:
        if next(calls) == int(fatal):
            os.kill(os.getpid(), signal.SIGKILL)
        flush(file)

    os.fsync = fsync  # type: ignore[assignment]
    setup = rotation.RotationSetup(
        Directory(Path(site)), "dir:site", ISSUER, Path(folder), clock=lambda: float(now), bits=2048
    )
    progress = rotation.advance(setup, switched=switched == "yes")
    print(progress.next.do, progress.state.new, progress.next.until)


if __name__ == "__main__":
    main(*sys.argv[1:])
