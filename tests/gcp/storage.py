"""Cloud Storage, JSON v1: buckets, their policies, objects with generations."""

from __future__ import annotations

import email
import itertools
import json
import re
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.gcp.answers import Json, Policy, Refused, missing

STALE = Refused(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")


class Kept(NamedTuple):
    body: bytes
    generation: int
    about: Json


class Storage:
    """All buckets of the world."""

    def __init__(self, number: str) -> None:
        self.number = number
        self.buckets: dict[str, Json] = {}
        self.policies: dict[str, Policy] = {}
        self.objects: dict[str, dict[str, Kept]] = {}
        self.guarded = False
        """Whether the organisation forbids public buckets."""
        self._generations = itertools.count(1_000)

    def make(self, name: str, number: str = "", **about: Any) -> None:
        """A bucket of any owner."""
        self.buckets[name] = {"name": name, "projectNumber": number or self.number, **about}
        self.policies[name], self.objects[name] = Policy(), {}

    def answer(
        self, method: str, path: str, query: dict[str, str], kind: str, body: bytes
    ) -> Json | bytes | None:
        """None: not ours to answer."""
        match = re.fullmatch(r"(?:/upload|/download)?/storage/v1/b(?:/([^/]+))?(/iam|/o)?(?:/(.+))?", path)
        if match is None:
            return None
        bucket, part, name = match.groups()
        if bucket is None:
            given = json.loads(body)
            if given["name"] in self.buckets:
                raise Refused(409, "conflict", "Your previous request to create the named bucket succeeded")
            self.make(**given)
            return self.buckets[given["name"]]
        if bucket not in self.buckets:
            raise missing("The specified bucket does not exist.")
        if part == "/iam":
            policy = self.policies[bucket]
            if method == "GET":
                return policy.read(query.get("optionsRequestedPolicyVersion", "1"))
            if self.guarded and "allUsers" in body.decode():
                text = "allUsers is not allowed since public access prevention is enforced."
                raise Refused(412, "conditionNotMet", text)
            return policy.write(json.loads(body), STALE)
        if part == "/o":
            return self._object(bucket, unquote(name or ""), method, query, kind, body)
        if method == "DELETE":
            if self.objects[bucket]:
                raise Refused(409, "conflict", "The bucket you tried to delete is not empty.")
            del self.buckets[bucket], self.policies[bucket], self.objects[bucket]
            return b""
        return self.buckets[bucket]

    def _object(
        self, bucket: str, name: str, method: str, query: dict[str, str], kind: str, body: bytes
    ) -> Json | bytes:
        objects = self.objects[bucket]
        about: Json = {}
        if method == "GET" and not name:
            return {"items": [_shown(bucket, key, one) for key, one in objects.items()]}
        if method == "POST":
            about, body = _multipart(kind, body)
            name = str(query.get("name") or about["name"])
        found = objects.get(name)
        expected = query.get("ifGenerationMatch")
        if expected is not None and int(expected) != (found.generation if found else 0):
            raise STALE if method == "POST" or found else missing(name)
        if method == "POST":
            objects[name] = Kept(body, next(self._generations), about)
            return _shown(bucket, name, objects[name])
        if found is None:
            raise missing(name)
        if method == "DELETE":
            del objects[name]
            return b""
        return found.body if query.get("alt") == "media" else _shown(bucket, name, found)


def _multipart(kind: str, body: bytes) -> tuple[Json, bytes]:
    message: Any = email.message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    first, second = message.get_payload()
    about: Json = json.loads(first.get_payload())
    return {**about, "contentType": second.get_content_type()}, second.get_payload(decode=True)


def _shown(bucket: str, name: str, found: Kept) -> Json:
    size, generation = str(len(found.body)), str(found.generation)
    return {**found.about, "bucket": bucket, "name": name, "generation": generation, "size": size}
