"""What an answer really says, checked before anything is timed: a fast server that does nothing must not win.

The patch is applied with the jsonpatch package (an implementation that is not ours) and the resulting pod
looked at.
"""

from __future__ import annotations

import base64
from typing import Any

import jsonpatch
import msgspec

from bench import cluster
from bench.pod import Json


class Wrong(Exception):
    """The answer is not the one the shape must get; the text says what is missing."""


def response(answer: bytes) -> Json:
    """The `response` of an answer. Raises Wrong when there is none."""
    try:
        decoded: Any = msgspec.json.decode(answer)
    except msgspec.DecodeError as problem:
        raise Wrong(f"answer is not JSON: {answer[:120]!r}") from problem
    if not isinstance(decoded, dict) or not isinstance(decoded.get("response"), dict):
        raise Wrong(f"answer has no response: {answer[:120]!r}")
    found: Json = decoded["response"]
    return found


def patched(review: Json, answer: bytes) -> Json:
    """The pod after the answer's patch; the same pod when the answer has none. Raises Wrong for a refusal."""
    found = response(answer)
    if found.get("allowed") is not True:
        raise Wrong(f"refused: {found.get('status')}")
    if found.get("uid") != review["request"]["uid"]:
        raise Wrong(f"uid is {found.get('uid')!r}, want {review['request']['uid']!r}")
    operations = msgspec.json.decode(base64.b64decode(found["patch"])) if found.get("patch") else []
    pod: Json = jsonpatch.apply_patch(review["request"]["object"], operations)
    return pod


def must_be_untouched(review: Json, answer: bytes) -> None:
    if patched(review, answer) != review["request"]["object"]:
        raise Wrong("pod was changed, want no change")


def must_be_refused(answer: bytes) -> None:
    if response(answer).get("allowed") is not False:
        raise Wrong("pod was allowed, want a refusal")


def must_have(review: Json, answer: bytes, *variables: str) -> None:
    """Every container has the variables, and there is a token volume for a foreign audience."""
    pod = patched(review, answer)
    for container in pod["spec"]["containers"]:
        names = {variable["name"] for variable in container.get("env", [])}
        missing = sorted(set(variables) - names)
        if missing:
            raise Wrong(f"container {container['name']} lacks {', '.join(missing)}")
    if not any(_audiences(volume) for volume in pod["spec"]["volumes"]):
        raise Wrong("no projected token volume with an audience was added")


def must_be_aws(review: Json, answer: bytes) -> None:
    """What the aws shape must get from every webhook: role, token file, token volume."""
    must_have(review, answer, "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
    for container in patched(review, answer)["spec"]["containers"]:
        values = {variable["name"]: variable.get("value") for variable in container["env"]}
        if values["AWS_ROLE_ARN"] != cluster.ROLE:
            raise Wrong(f"AWS_ROLE_ARN is {values['AWS_ROLE_ARN']!r}, want {cluster.ROLE!r}")


def _audiences(volume: Json) -> list[str]:
    sources = volume.get("projected", {}).get("sources", [])
    found = [source.get("serviceAccountToken", {}).get("audience") for source in sources]
    return [audience for audience in found if audience]
