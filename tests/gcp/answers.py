"""What the double's parts share: refusals as Google words them, and policies under an etag."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, code: str, text: str, after: int = 0) -> None:
        self.status, self.code, self.text, self.after = status, code, text, after
        super().__init__(text)

    @property
    def body(self) -> Json:
        return {"error": {"code": self.status, "message": self.text, "status": self.code}}


def missing(what: str) -> Refused:
    return Refused(404, "NOT_FOUND", f"Requested entity was not found: {what}")


def exists(what: str) -> Refused:
    return Refused(409, "ALREADY_EXISTS", f"Requested entity already exists: {what}")


class Policy:
    """Bindings; who asks for an older version than 3 is told nothing of conditions, as Google does it."""

    def __init__(self, bindings: list[Json] | None = None) -> None:
        self.bindings: list[Json] = bindings or []
        self.version = 1

    def read(self, requested: str) -> Json:
        bindings = copy.deepcopy(self.bindings)
        if requested != "3":
            for one in bindings:
                one.pop("condition", None)
        return {"version": 3, "etag": f"e{self.version}", "bindings": bindings}

    def write(self, given: Json, stale: Refused) -> Json:
        if "etag" not in given:
            raise Refused(400, "INVALID_ARGUMENT", "a policy is written under its etag, in this double")
        if given["etag"] != f"e{self.version}":
            raise stale
        self.bindings = given.get("bindings", [])
        self.version += 1
        return self.read("3")

    def has(self, role: str, member: str) -> bool:
        return any(one["role"] == role and member in one["members"] for one in self.bindings)
