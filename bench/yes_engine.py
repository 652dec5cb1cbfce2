"""Our serving engine, deciding nothing: `python -m bench.yes_engine PORT CERT KEY [FOLDER]`.

It says yes to every review; at `/NAME` with the patch in the file NAME of the folder (base64, as it is sent).
What such a webhook costs is the API server's own share of every call, and of every patch.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvloop

from bench import empty_engine
from vestibule.httpserver import server

_BEFORE = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"'
_AFTER = b'","allowed":true}}'
_PATCHED = b'","allowed":true,"patchType":"JSONPatch","patch":"%b"}}'
_UID = b'"uid":"'
"""Where the uid of the request begins: nothing before it in a review has one."""


def handler(patches: dict[str, bytes]) -> empty_engine.Answer:
    afters = {f"/{name}": _PATCHED % patch for name, patch in patches.items()}

    def answer(request: server.HttpRequest) -> server.HttpResponse:
        begin = request.body.index(_UID) + len(_UID)
        uid = request.body[begin : request.body.index(b'"', begin)]
        return server.HttpResponse(200, _BEFORE + uid + afters.get(request.path, _AFTER))

    return answer


if __name__ == "__main__":
    folder = Path(sys.argv[4]) if len(sys.argv) > 4 else None
    found = {file.name: file.read_bytes() for file in folder.iterdir()} if folder else {}
    uvloop.run(empty_engine.main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), handler(found)))
