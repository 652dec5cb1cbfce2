"""``scripts/image``: the container image, made without a container engine and without root.

Three layers: an interpreter (a copy of the one that runs this, or a root file system of yours), the locked
packages, and Vestibule. The same input gives the same digest. ``--tree`` only writes the files, for a build
stage of the Containerfile.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from scripts.images import interpreter, layout, wheels

ROOT: Final = Path(__file__).resolve().parents[1]
HOME: Final = "opt/vestibule"
USER: Final = 65532
PROGRAM: Final = f"/{interpreter.PREFIX}/bin/vestibule"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_PARTS: Final = 2
"""Processes that compile; a fixed number, since the way files are shared out may show in bytecode."""


def version() -> str:
    """Of the package, read and not imported."""
    found = re.search(
        r'^__version__ = "([^"]+)"$', (ROOT / "src/vestibule/__init__.py").read_text(), re.MULTILINE
    )
    if found is None:
        raise SystemExit("src/vestibule/__init__.py tells no version")
    return found[1]


def environment() -> dict[str, str]:
    """Variables of every process in the image."""
    return {
        "PATH": f"/{interpreter.PREFIX}/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": f"/{HOME}",
        "PYTHONSAFEPATH": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SSL_CERT_FILE": f"/{HOME}/certifi/cacert.pem",
    }


def base(root: Path, given: Path | None) -> None:
    """The lowest layer: an interpreter, the directories that programs expect, one user."""
    if given is None:
        interpreter.copy(root)
    else:
        shutil.copytree(given, root, symlinks=True, dirs_exist_ok=True)
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    people = {
        "passwd": f"root:x:0:0:root:/:/nonexistent\nvestibule:x:{USER}:{USER}::/tmp:/nonexistent\n",
        "group": f"root:x:0:\nvestibule:x:{USER}:\n",
        "nsswitch.conf": "hosts: files dns\n",
    }
    for name, text in people.items():
        if not (etc / name).exists():
            (etc / name).write_text(text)
    temporary = root / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)


def packages(root: Path, folder: Path, extras: Sequence[str]) -> list[wheels.Wheel]:
    """The locked packages, or those that some extras need."""
    found = wheels.chosen(ROOT / "requirements" / "runtime.txt", folder)
    if extras:
        found = wheels.closure(found, roots(extras))
    for wheel in found:
        wheels.unpack(wheel, root / HOME)
    return found


def roots(extras: Sequence[str]) -> list[str]:
    """What the package asks for with these extras, as pyproject.toml says; certificates always."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional: dict[str, list[str]] = project["optional-dependencies"]
    unknown = sorted(set(extras) - optional.keys())
    if unknown:
        raise SystemExit(f"--extras: {', '.join(unknown)}: want some of {', '.join(optional)}")
    requested, queue, seen = [*project["dependencies"], "certifi"], list(extras), set(extras)
    while queue:
        for line in optional[queue.pop()]:
            inner = re.fullmatch(r"vestibule\[([^]]+)\]", line)
            if inner is None:
                requested.append(line)
                continue
            more = [name for name in inner[1].split(",") if name not in seen]
            queue += more
            seen |= set(more)
    return requested


def own(root: Path) -> None:
    """Vestibule itself, and the program that the image starts."""
    source, target = ROOT / "src" / "vestibule", root / HOME / "vestibule"
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            where = target / path.relative_to(source)
            where.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, where)
            where.chmod(0o644)
    licence = root / HOME / "LICENSE"
    shutil.copyfile(ROOT / "LICENSE", licence)
    licence.chmod(0o644)
    program = root / PROGRAM.lstrip("/")
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(
        f"#!/{interpreter.PREFIX}/bin/python3\n"
        "import sys\n\nfrom vestibule.cli.main import main\n\nsys.exit(main())\n"
    )
    program.chmod(0o755)


def compiled(root: Path) -> None:
    """Bytecode beside every module."""
    clean = {"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}
    script = ROOT / "scripts" / "images" / "compiling.py"
    python = sys._base_executable  # type: ignore[attr-defined]
    running = [
        subprocess.Popen([python, "-S", str(script), str(root), str(part), str(_PARTS)], env=clean)
        for part in range(_PARTS)
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("some modules cannot be compiled")


def stage(work: Path, arguments: argparse.Namespace) -> list[tuple[str, Path]]:
    """The tree after each layer, as copies of each other: what a layer adds is what it has and the last had
    not."""
    folder = arguments.wheels or wheels.fetch(
        ROOT / "requirements" / "runtime.txt", wheels.cache(ROOT / "requirements" / "runtime.txt")
    )
    first, second, third = (work / name for name in ("interpreter", "packages", "vestibule"))
    first.mkdir()
    base(first, arguments.rootfs)
    packages(first, folder, arguments.extras)
    if arguments.rootfs is None:
        # libraries of packages, too, belong to the lowest layer: they are the machine's
        interpreter.libraries(first)
    compiled(first)
    _move(first, second, HOME)
    # no file is changed after this, only added to
    shutil.copytree(first, second, symlinks=True, dirs_exist_ok=True, copy_function=os.link)
    shutil.copytree(second, third, symlinks=True, copy_function=os.link)
    own(third)
    compiled(third)
    return [("interpreter", first), ("packages", second), ("vestibule", third)]


def _move(source: Path, target: Path, name: str) -> None:
    (target / name).parent.mkdir(parents=True)
    (source / name).replace(target / name)
    (source / name).parent.rmdir()


def how(tag: str) -> dict[str, Any]:
    """How the image is run."""
    return {
        "User": f"{USER}:{USER}",
        "Entrypoint": [PROGRAM],
        "Cmd": ["--help"],
        "Env": [f"{name}={value}" for name, value in environment().items()],
        "WorkingDir": "/",
        "ExposedPorts": {"8443/tcp": {}, "8080/tcp": {}},
        "Labels": {
            "org.opencontainers.image.title": "vestibule",
            "org.opencontainers.image.description": "Cloud identity and sandboxes for Kubernetes pods",
            "org.opencontainers.image.version": tag,
            "org.opencontainers.image.licenses": "Apache-2.0",
        },
    }


def main(words: Sequence[str]) -> int:
    """Exit code 0 with the path and the digest on standard output."""
    parser = argparse.ArgumentParser(prog="scripts/image", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the image (dist)")
    parser.add_argument("--tree", type=Path, help="write the files into this new folder and stop")
    parser.add_argument("--wheels", type=Path, help="folder with the locked wheels; default: fetched once")
    parser.add_argument("--rootfs", type=Path, help="root file system with a Python of this version, as base")
    parser.add_argument(
        "--extras",
        type=lambda text: text.split(","),
        default=[],
        help="only what these need, such as webhook,operator,cluster,pki; default: everything",
    )
    arguments = parser.parse_args(words)
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    tag = version()
    try:
        with tempfile.TemporaryDirectory(prefix="vestibule-image-") as work:
            stages = stage(Path(work), arguments)
            if arguments.tree is not None:
                shutil.copytree(stages[-1][1], arguments.tree, symlinks=True)
                print(arguments.tree)
                return 0
            layers, below = [], None
            for about, tree in stages:
                layers.append(layout.layer(about, tree, when, below=below))
                below = tree
    except (wheels.NotLocked, interpreter.Incomplete) as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    created = datetime.datetime.fromtimestamp(when, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = layout.config(layers, how(tag), architecture, created)
    target = arguments.output / f"vestibule-{tag}-{architecture}.oci.tar"
    found = layout.write(target, layers, configuration, tag, when)
    print(f"{target} {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
