"""Our serving engine with an empty handler: `python -m bench.empty_engine PORT CERT KEY`.

The ceiling of our webhook: the same TLS, HTTP and limits, a constant small answer.
"""

from __future__ import annotations

import sys


def main(port: int, cert: str, key: str) -> None:
    raise SystemExit(f"not wired yet: port {port}, {cert}, {key}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3])
