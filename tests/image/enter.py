"""``python enter.py ROOT CLUSTER COMMAND…``, in a mount namespace of its own: a container as a kubelet would
start it, read-only root, a /tmp of its own, the user of the image where we may choose."""

from __future__ import annotations

import os
import subprocess
import sys


def main(root: str, cluster: str, command: list[str]) -> None:
    """Never returns."""
    for name in ("proc", "dev"):
        os.makedirs(f"{root}/{name}", exist_ok=True)  # noqa: PTH103 - strings all along
    for words in (
        ["--bind", root, root],
        ["--rbind", "/dev", f"{root}/dev"],
        ["--rbind", "/proc", f"{root}/proc"],
        ["-t", "tmpfs", "-o", "mode=1777,size=16m", "tmpfs", f"{root}/tmp"],
        ["-o", "remount,bind,ro", root],
    ):
        subprocess.run(["mount", *words], check=True)
    subprocess.run(["cp", "-r", cluster, f"{root}/tmp/cluster"], check=True)
    os.chroot(root)
    os.chdir("/")
    if os.environ["CHOOSE_USER"] == "yes":
        os.setgroups([])
        os.setgid(65532)
        os.setuid(65532)
    variables = dict(line.split("=", 1) for line in os.environ["IMAGE_ENV"].splitlines())
    os.execve(command[0], command, variables)  # noqa: S606 - no shell is there


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
