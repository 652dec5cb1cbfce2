"""What the tests of the offline tools share: text in, everything that comes of it out."""

from __future__ import annotations

import io
from typing import Any

from vestibule.api.settings import schema
from vestibule.diagnose.offline import inject, outputs
from vestibule.diagnose.offline.inject import InjectionResult
from vestibule.diagnose.offline.manifest_files import ManifestFile, read
from vestibule.injection.policy import compile_policy
from vestibule.kube.memory_cluster import MemoryCluster
from vestibule.yamledit.yaml_documents import YamlDocument, documents

AWS = {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app"}


def document(text: str, name: str = "x.yaml") -> YamlDocument:
    """The one document in a text that has no problems."""
    found, problems = documents(name, text)
    assert problems == []
    assert len(found) == 1
    return found[0]


def piped(text: str) -> list[ManifestFile]:
    """Files as read from standard input."""
    return read(["-"], io.BytesIO(text.encode()))


def injected(
    text: str, cluster: MemoryCluster | None = None, settings: schema.Settings | None = None, **more: Any
) -> InjectionResult:
    """Text through the whole offline path."""
    return inject.run(piped(text), cluster, compile_policy(settings or schema.Settings()), **more)


def injected_text(text: str, **more: Any) -> str:
    """Text through the whole offline path, as a stream again."""
    return outputs.as_stream(injected(text, **more))
