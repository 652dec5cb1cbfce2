"""``scripts/sbom``: what the image holds, as CycloneDX 1.6 in JSON, from the lock file and its wheels.

Name, version, hash, licence and address of each package, and who needs whom. The same lock file gives the
same text; no clock is read (SOURCE_DATE_EPOCH gives the time where it is wanted).
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from scripts import image
from scripts.images import interpreter, wheels
from scripts.images.wheels import Wheel

_LICENCES: Final = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""Classifiers of licences, and how people write them."""
_SAID: Final = {
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "BSD": "BSD",
    "BSD License": "BSD",
}
_IDS: Final = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "PSF-2.0"}


def purl(name: str, version: str) -> str:
    """A package URL, without the host of any index."""
    return f"pkg:pypi/{name}@{version}"


def licences(wheel: Wheel) -> list[dict[str, Any]]:
    """What the metadata say, in the form of CycloneDX."""
    expression = wheel.metadata.get("License-Expression")
    if expression:
        return [{"expression": str(expression)}]
    message = str(wheel.metadata.get("License") or "").strip()
    known = [message] if message and "\n" not in message and len(message) < 60 else []
    if not known:
        listed = [str(one) for one in wheel.metadata.get_all("Classifier") or ()]
        last = [one.rpartition(" :: ")[2] for one in listed if one.startswith("License :: ")]
        known = [_LICENCES.get(one, one) for one in last if one != "OSI Approved"]
    found = [_SAID.get(one, one) for one in known]
    return [{"license": {"id": one} if one in _IDS else {"name": one}} for one in found]


def component(wheel: Wheel) -> dict[str, Any]:
    """One package."""
    address = purl(wheel.name, wheel.version)
    created: dict[str, Any] = {
        "type": "library",
        "bom-ref": address,
        "name": wheel.name,
        "version": wheel.version,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": wheel.sha256}],
        "properties": [{"name": "vestibule:file", "value": wheel.path.name}],
    }
    about = licences(wheel)
    if about:
        created["licenses"] = about
    return created


def bill(found: Sequence[Wheel], roots: Sequence[str]) -> dict[str, Any]:
    """The whole document."""
    version = image.version()
    own = purl("vestibule", version)
    python = ".".join(map(str, sys.version_info[:3]))
    runtime = {
        "type": "application",
        "bom-ref": f"pkg:generic/cpython@{python}",
        "name": "cpython",
        "version": python,
        "purl": f"pkg:generic/cpython@{python}",
        "licenses": [{"license": {"id": "PSF-2.0"}}],
        "description": f"Interpreter of the image, {interpreter.VERSION}.",
    }
    by_name = {wheel.name: wheel for wheel in found}
    needs = [
        {
            "ref": purl(wheel.name, wheel.version),
            "dependsOn": sorted(
                {
                    purl(by_name[name].name, by_name[name].version)
                    for name, _ in wheels.requires(wheel)
                    if name in by_name
                }
            ),
        }
        for wheel in found
    ]
    direct = sorted({purl(by_name[name].name, by_name[name].version) for name in roots if name in by_name})
    needs.append({"ref": own, "dependsOn": sorted([*direct, str(runtime["bom-ref"])])})
    created: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "vestibule",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [runtime, *(component(wheel) for wheel in found)],
        "dependencies": sorted(needs, key=lambda one: str(one["ref"])),
    }
    when = os.environ.get("SOURCE_DATE_EPOCH")
    if when:
        instant = datetime.datetime.fromtimestamp(int(when), datetime.UTC)
        created["metadata"]["timestamp"] = instant.strftime("%Y-%m-%dT%H:%M:%SZ")
    content = hashlib.sha256(json.dumps(created, sort_keys=True).encode()).hexdigest()
    created["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"
    return created


def main(words: Sequence[str]) -> int:
    """Exit code 0 with the path on standard output."""
    parser = argparse.ArgumentParser(prog="scripts/sbom", description=__doc__)
    parser.add_argument("--output", type=Path, default=image.ROOT / "dist", help="folder of the file (dist)")
    parser.add_argument("--wheels", type=Path, help="folder with the locked wheels; default: fetched once")
    parser.add_argument(
        "--extras",
        type=lambda text: text.split(","),
        default=[],
        help="only what these need, as for scripts/image",
    )
    arguments = parser.parse_args(words)
    lock = image.ROOT / "requirements" / "runtime.txt"
    try:
        folder = arguments.wheels or wheels.fetch(lock, wheels.cache(lock))
        found = wheels.chosen(lock, folder)
        roots = image.roots(arguments.extras or ["all"])
        if arguments.extras:
            found = wheels.closure(found, roots)
    except wheels.NotLocked as error:
        print(f"sbom: {error}", file=sys.stderr)
        return 1
    from packaging.requirements import Requirement

    document = bill(found, [wheels.canonical(Requirement(root).name) for root in roots])
    arguments.output.mkdir(parents=True, exist_ok=True)
    target = arguments.output / f"vestibule-{image.version()}.cdx.json"
    target.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
