"""etcd with one member: plain HTTP on 127.0.0.1, no fsync, its data in the rig's folder."""

from __future__ import annotations

import http.client
import json
import secrets
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.rig.part import Part


class Etcd(Part):
    """The store; several API servers share it under different prefixes."""

    name = "etcd"
    port_count = 2

    def __init__(self, binary: Path, folder: Path, **options: Any) -> None:
        super().__init__(binary, folder, **options)
        self.data = folder / "etcd"
        # tells this member from one of another rig that took the port first
        self._member = secrets.token_hex(8)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def launch(self) -> None:
        if not self.settled:
            shutil.rmtree(self.data, ignore_errors=True)  # a first start that failed knows the wrong ports
        self.data.mkdir(mode=0o700, exist_ok=True, parents=True)
        super().launch()

    def command(self) -> list[str]:
        peer = f"http://127.0.0.1:{self.ports[1]}"
        return [
            str(self.binary),
            f"--name={self._member}",
            f"--data-dir={self.data}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={self._member}={peer}",
            # alone, it need not wait a second for votes of others
            "--heartbeat-interval=20",
            "--election-timeout=200",
            "--unsafe-no-fsync",
            "--log-level=error",
            "--quota-backend-bytes=4294967296",
            "--snapshot-count=1000000",
        ]

    def ready(self) -> bool:
        try:
            members = self.call("/v3/cluster/member/list", {"linearizable": True}, timeout=1.0)["members"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return False
        return [member.get("name") for member in members] == [self._member]

    def call(self, path: str, body: dict[str, Any], timeout: float = 10.0) -> dict[str, Any]:
        """One call of etcd's JSON gateway, such as ``/v3/kv/compaction``. Raises OSError, ValueError."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)) as to:
            to.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = json.loads(to.getresponse().read())
        if not isinstance(answer, dict) or "error" in answer:
            raise ValueError(f"etcd {path}: {answer}")
        return answer

    def compact(self) -> int:
        """Forgets all history, so that a watch from an older revision gets 410; the revision kept."""
        header = self.call("/v3/kv/range", {"key": "AA==", "count_only": True})["header"]
        self.call("/v3/kv/compaction", {"revision": header["revision"], "physical": True})
        return int(header["revision"])
