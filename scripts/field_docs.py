"""Writes ``manifests/field_docs.py``: the text below each field of the kinds in ``api``, for CRDs.

Texts below fields are lost when Python compiles a class, so they are collected here and committed.
``--check`` writes nothing, and exits 1 when the file is not as it would be written.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TARGET: Final = ROOT / "src" / "vestibule" / "manifests" / "field_docs.py"
LONGEST_LINE: Final = 110
MODULES: Final = (
    "aro",
    "hostedwebhook",
    "identitypolicy",
    "kata",
    "label_selectors",
    "publishedissuer",
    "vestibulewebhook",
)


def collected() -> dict[str, dict[str, str]]:
    """Class, field as it is written in YAML, text."""
    found: dict[str, dict[str, str]] = {}
    for name in MODULES:
        module = importlib.import_module(f"vestibule.api.{name}")
        tree = ast.parse((ROOT / "src" / "vestibule" / "api" / f"{name}.py").read_text("utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                texts = dict(_texts(node))
                encoded = _encoded(getattr(module, node.name))
                written = {encoded[field]: text for field, text in texts.items() if field in encoded}
                if written:
                    found[node.name] = written
    return found


def _texts(node: ast.ClassDef) -> list[tuple[str, str]]:
    pairs = zip(node.body, node.body[1:], strict=False)
    return [
        (field.target.id, " ".join(text.value.value.replace("``", "").split()))
        for field, text in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    ]


def _encoded(kind: type) -> dict[str, str]:
    fields = getattr(kind, "__struct_fields__", ())
    return dict(zip(fields, getattr(kind, "__struct_encode_fields__", ()), strict=True))


def text() -> str:
    """The module."""
    lines = [
        '"""Texts below the fields of the kinds in ``api``; written by scripts/field_docs.py."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "# fmt: off",
        "FIELD_DOCS: Final[dict[str, dict[str, str]]] = {",
    ]
    for name, fields in sorted(collected().items()):
        lines.append(f"    {name!r}: {{".replace("'", '"'))
        for field, about in sorted(fields.items()):
            quoted = about.replace("\\", "\\\\").replace('"', '\\"')
            line = f'        "{field}": "{quoted}",'
            lines.append(line if len(line) <= LONGEST_LINE else f"{line}  # noqa: E501")
        lines.append("    },")
    return "\n".join([*lines, "}", "# fmt: on", ""])


def main() -> int:
    """Write, or compare."""
    if "--check" in sys.argv:
        fresh = TARGET.exists() and TARGET.read_text("utf-8") == text()
        if not fresh:
            print(f"{TARGET.relative_to(ROOT)} is not fresh: run scripts/field_docs.py", file=sys.stderr)
        return 0 if fresh else 1
    TARGET.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
