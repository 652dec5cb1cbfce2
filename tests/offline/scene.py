"""What the tests of the offline tools share: text in, everything that comes of it out."""

from __future__ import annotations

import io
from typing import Any

from vestibule.adapters.cluster.memory import MemoryCluster
from vestibule.adapters.cluster.yamltext import Document, documents
from vestibule.apps.offline import inject, outputs
from vestibule.apps.offline.documents import File, read
from vestibule.apps.offline.inject import Injected
from vestibule.core.kinds import config
from vestibule.core.mutation.policy import compile_policy

AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app"}


def document(text: str, name: str = "x.yaml") -> Document:
    """The one document in a text that has no problems."""
    found, problems = documents(name, text)
    assert problems == []
    assert len(found) == 1
    return found[0]


def piped(text: str) -> list[File]:
    """Files as read from standard input."""
    return read(["-"], io.BytesIO(text.encode()))


def injected(
    text: str, cluster: MemoryCluster | None = None, settings: config.Settings | None = None, **more: Any
) -> Injected:
    """Text through the whole offline path."""
    return inject.run(piped(text), cluster, compile_policy(settings or config.Settings()), **more)


def injected_text(text: str, **more: Any) -> str:
    """Text through the whole offline path, as a stream again."""
    return outputs.as_stream(injected(text, **more))
