"""Writes ``deploy/crds`` from the types that read the objects; ``--check`` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from vestibule.cli import printer
from vestibule.manifests import aro_crds, crds

FOLDER = Path(__file__).parent.parent / "deploy" / "crds"


def main(arguments: list[str]) -> int:
    """Write the files that are stale, or tell them."""
    created = {
        FOLDER / f"{obj['metadata']['name']}.yaml": printer.yaml_text([obj])
        for obj in (
            crds.identity_policy(),
            crds.webhook(),
            crds.hosted_webhook(),
            crds.published_issuer(),
            *crds.sandboxes(),
            *aro_crds.definitions(),
        )
    }
    stale = [path for path, text in created.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if "--check" in arguments:
            print(f"deploy/crds/{path.name} is stale: run scripts/crds.py", file=sys.stderr)
        else:
            path.write_text(created[path], "utf-8")
            print(f"wrote deploy/crds/{path.name}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
