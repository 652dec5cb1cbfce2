"""AWS signature version 4, the verifying side: enough for a POST to the root of a service."""

from __future__ import annotations

import hashlib
import hmac
import re

from tests.chain.gateway import Call

_HEADER = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>\w+)/(?P<scope>\d{8}/[\w-]+/sts/aws4_request), "
    r"SignedHeaders=(?P<names>[\w;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)


def key_of(call: Call) -> str:
    """The access key that the call claims to be signed with, or nothing."""
    found = _HEADER.fullmatch(call.headers.get("Authorization", ""))
    return found["key"] if found else ""


def signed(call: Call, secret: str) -> bool:
    """Whether who sent the call knows the secret."""
    found = _HEADER.fullmatch(call.headers.get("Authorization", ""))
    if found is None:
        return False
    names = found["names"].split(";")
    if not {"host", "x-amz-date", "x-amz-security-token"} <= set(names):
        return False
    headers = "".join(f"{name}:{' '.join(call.headers.get(name, '').split())}\n" for name in names)
    digest = hashlib.sha256(call.body).hexdigest()
    request = "\n".join([call.method, call.path, "", headers, found["names"], digest])
    date = call.headers.get("X-Amz-Date", "")
    text = "\n".join(["AWS4-HMAC-SHA256", date, found["scope"], hashlib.sha256(request.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in found["scope"].split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.compare_digest(hmac.digest(key, text.encode(), "sha256").hex(), found["signature"])
