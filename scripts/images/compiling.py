"""``python compiling.py ROOT PART PARTS``: bytecode for every module below ROOT that has none.

It is checked against nothing when it is loaded, so it does not depend on times; paths in it are those of the
image. A process of its own with a fixed hash seed: the order of sets is part of bytecode.
"""

from __future__ import annotations

import importlib.util
import py_compile
import sys
from pathlib import Path


def main(root: Path, part: int, parts: int) -> int:
    """Every ``parts``-th file; exit code 1 with what cannot be compiled."""
    broken = 0
    for path in sorted(root.rglob("*.py"))[part::parts]:
        target = Path(importlib.util.cache_from_source(str(path)))
        if target.exists():
            continue
        try:
            py_compile.compile(
                str(path),
                cfile=str(target),
                dfile=f"/{path.relative_to(root)}",
                doraise=True,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
        except py_compile.PyCompileError as error:
            print(error.msg, file=sys.stderr)
            broken = 1
    return broken


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
