"""Our serving engine, saying yes to every review: `python -m bench.yes_engine PORT CERT KEY`.

What a webhook costs that decides nothing and changes nothing: the API server's own share of every call.
"""

from __future__ import annotations

import sys
from pathlib import Path

import uvloop

from bench import empty_engine
from vestibule.adapters.serving import server

_BEFORE = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"'
_AFTER = b'","allowed":true}}'
_UID = b'"uid":"'
"""Where the uid of the request begins: nothing before it in a review has one."""


def handler(request: server.HttpRequest) -> server.HttpResponse:
    begin = request.body.index(_UID) + len(_UID)
    uid = request.body[begin : request.body.index(b'"', begin)]
    return server.HttpResponse(200, _BEFORE + uid + _AFTER)


if __name__ == "__main__":
    uvloop.run(empty_engine.main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), handler))
