"""Functions, methods and classes that the product itself never uses, found by vulture.

Tests are not among what it reads: code that only a test calls is dead. Fields of structs and attributes are
left out, because encoders read them without a name in the source.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = ("src", "simulators/src", "scripts", "bench")
CALLED_BY_OTHERS = (
    *("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"),
    *("get_buffer", "buffer_updated"),  # asyncio's BufferedProtocol
    "ignore_aliases",  # PyYAML's dumpers
    *("get_command", "list_commands", "format_commands"),  # click's groups
    "__call__",
)
"""Names that a library calls; the first six are httptools'."""
KEPT = {
    "src/vestibule/diagnose/audit/pod_scan.py: cached_objects": "the bound on memory is tested by it",
    "src/vestibule/kube/memory_cluster.py: heal": "ends the faults of the embedded cluster in tests",
}
"""What only tests use, with the reason to keep it."""
_LINE = re.compile(r"(.+?):\d+: unused (?:function|method|class|property) '(\w+)'")


def test_every_function_method_and_class_is_used_by_the_product() -> None:
    command = [sys.executable, "-m", "vulture", *READ, "--min-confidence", "60"]
    words = ["--ignore-names", ",".join(CALLED_BY_OTHERS), "--ignore-decorators", "@*.command*"]
    done = subprocess.run(
        [*command, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode in (0, 3), done.stderr  # 3: something was found

    found = {f"{match[1]}: {match[2]}" for line in done.stdout.splitlines() if (match := _LINE.match(line))}

    assert found == KEPT.keys()
