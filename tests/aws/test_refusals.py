"""A run that cannot be planned changes nothing: no call that writes, no file, exit code 2, every problem."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.aws.test_commands import REQUEST, client
from tests.cli.process import run_main

LOCATION = {"LocationConstraint": "eu-central-1"}


class CallLog:
    """The calls that moto has recorded since the log was created."""

    def __init__(self, address: str) -> None:
        self._address = urlsplit(address).netloc
        self._call("reset-recording")
        self._call("start-recording")

    def writes(self) -> list[str]:
        """Calls that change something: S3 and CloudFront by method, IAM by action."""
        return [*filter(None, map(_write, self._calls()))]

    def _calls(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._call("download-recording", "GET").splitlines()]

    def stop(self) -> None:
        self._call("stop-recording")

    def _call(self, verb: str, method: str = "POST") -> str:
        connection = http.client.HTTPConnection(self._address, timeout=10)
        connection.request(method, f"/moto-api/recorder/{verb}")
        text = connection.getresponse().read().decode()
        connection.close()
        return text


def _write(call: dict[str, str]) -> str:
    body = base64.b64decode(call["body"] or "").decode()
    action = parse_qs(body).get("Action", [""])[0]
    reads = action.startswith(("Get", "List")) if action else call["method"] in ("GET", "HEAD")
    return "" if reads else action or f"{call['method']} {call['url']}"


@pytest.fixture
def call_log(aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CallLog]:
    monkeypatch.chdir(tmp_path)  # moto records into a file of the working directory
    log = CallLog(aws)
    yield log
    log.stop()


@pytest.fixture
def requests_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "requests"
    folder.mkdir()
    for number in (1, 2):
        text = REQUEST.format(name=f"cr{number}", secret=f"secret{number}", accounts="sa-one")
        (folder / f"{number}.yaml").write_text(text)
    return folder


def create_all(tmp_path: Path, requests: Path, *more: str) -> list[str]:
    return [
        "aws", "create-all", "--name", "demo1", "--region", "eu-central-1", "--no-verify",
        "--credentials-requests-dir", str(requests), "--output-dir", str(tmp_path / "out"), *more,
    ]  # fmt: skip


@pytest.mark.parametrize("more", [(), ("--create-private-s3-bucket",)])
def test_a_role_of_another_user_changes_nothing_and_every_problem_is_named(
    call_log: CallLog,
    tmp_path: Path,
    requests_dir: Path,
    more: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in (1, 2):
        client("iam").create_role(RoleName=f"demo1-ns1-secret{number}", AssumeRolePolicyDocument="{}")
    prepared = call_log.writes()

    code = run_main(monkeypatch, *create_all(tmp_path, requests_dir, *more))

    reported = capsys.readouterr().err
    assert code == 2
    assert "role demo1-ns1-secret1 exists and is not ours" in reported
    assert "role demo1-ns1-secret2 exists and is not ours" in reported
    assert prepared == ["CreateRole", "CreateRole"]
    assert call_log.writes() == prepared
    assert not (tmp_path / "out").exists()


def test_problems_of_issuer_and_roles_are_named_at_once(
    call_log: CallLog,
    tmp_path: Path,
    requests_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client("s3").create_bucket(Bucket="demo1-oidc", CreateBucketConfiguration=LOCATION)
    client("s3").put_object(Bucket="demo1-oidc", Key="theirs", Body=b"x")
    client("iam").create_role(RoleName="demo1-ns1-secret2", AssumeRolePolicyDocument="{}")
    prepared = call_log.writes()

    code = run_main(monkeypatch, *create_all(tmp_path, requests_dir))

    reported = capsys.readouterr().err
    assert code == 2
    assert "bucket demo1-oidc exists and is not ours" in reported
    assert "role demo1-ns1-secret2 exists and is not ours" in reported
    assert len(prepared) == 3
    assert call_log.writes() == prepared
    assert not (tmp_path / "out").exists()
