"""What is special to a directory of manifests: what it reads, what it refuses and how, when it reloads."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vestibule import errors
from vestibule.api import gvk
from vestibule.kube.manifest_directory import DirectoryCluster
from vestibule.kube.ports import UNKNOWN, WatchEvent

ACCOUNT = """\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: team-a
  annotations:
    cwii.dev/aws-inject: "{inject}"
"""


def loaded(path: Path) -> DirectoryCluster:
    cluster = DirectoryCluster(path)
    cluster.load()
    return cluster


def problems(path: Path) -> list[str]:
    """What ``load`` says, with the directory cut off."""
    with pytest.raises(errors.InvalidInput) as raised:
        loaded(path)
    return [str(problem).replace(f"{path}{os.sep}", "") for problem in raised.value.problems]


def names(cluster: DirectoryCluster) -> list[str]:
    return [obj["metadata"]["name"] for obj in cluster.objects(gvk.SERVICE_ACCOUNT)]


# ── what is read ──────────────────────────────────────────────────────────────────────────────────────────


def test_documents_lists_formats_and_folders_are_read(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    first, second = (ACCOUNT.format(name=name, inject="true") for name in "ab")
    (tmp_path / "many.yaml").write_text(f"# head\n---\n{first}---\n---\n{second}")
    (tmp_path / "deep" / "er" / "one.yml").write_text(ACCOUNT.format(name="c", inject="true"))
    (tmp_path / "j.json").write_text(
        '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "ServiceAccount",\n\t"metadata": '
        '{"name": "d", "namespace": "team-a"}}]}\n'
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}'
    )

    cluster = loaded(tmp_path)

    assert names(cluster) == ["a", "b", "c", "d"]
    assert cluster.peek(gvk.NAMESPACE, "", "n") is not None


def test_hidden_names_other_suffixes_and_unknown_kinds_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in (".hidden.yaml", ".git/x.yaml", "notes.txt", "#x.yaml#"):
        (tmp_path / name).write_text("not: [yaml")
    (tmp_path / "crd.yaml").write_text(
        "kind: CustomResourceDefinition\nspec: {enum: [=, '!=']}\n---\nkind: Kustomization\n"
    )

    cluster = loaded(tmp_path)

    assert all(cluster.objects(kind) == [] for kind in gvk.KNOWN)


def test_anchors_and_merge_keys_are_allowed(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "kind: List\nitems:\n"
        "- &base {apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: &n {x: '1'}}}\n"
        "- {<<: *base, metadata: {name: b, annotations: *n}}\n"
    )

    cluster = loaded(tmp_path)

    second = cluster.object(gvk.SERVICE_ACCOUNT, "default", "b")
    assert second is not None
    assert second["metadata"]["annotations"] == {"x": "1"}


def test_dates_and_times_of_day_are_strings_as_for_kubectl(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "apiVersion: v1\nkind: ServiceAccount\n"
        "metadata: {name: a, annotations: {on-day: 2024-01-01, at: 12:30}}\n"
    )

    found = loaded(tmp_path).object(gvk.SERVICE_ACCOUNT, "default", "a")

    assert found is not None
    assert found["metadata"]["annotations"] == {"on-day": "2024-01-01", "at": "12:30"}


def test_a_namespace_without_a_manifest_is_absent_and_not_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ACCOUNT.format(name="a", inject="true"))

    assert loaded(tmp_path).peek(gvk.NAMESPACE, "", "team-a") is None


def test_before_it_is_loaded_nothing_is_known(tmp_path: Path) -> None:
    cluster = DirectoryCluster(tmp_path)

    assert not cluster.synced
    assert cluster.peek(gvk.NAMESPACE, "", "x") is UNKNOWN
    with pytest.raises(errors.LookupFailed, match="Namespace x"):
        asyncio.run(cluster.get(gvk.NAMESPACE, "", "x"))


def test_importing_it_loads_no_yaml() -> None:
    code = "import sys, vestibule.kube.manifest_directory; sys.exit('yaml' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_applied_objects_never_reach_the_disk(tmp_path: Path) -> None:
    cluster = loaded(tmp_path)
    meta = {"name": "creds", "namespace": "team-a"}

    asyncio.run(
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}, field_manager="us")
    )

    assert list(tmp_path.iterdir()) == []
    assert len(cluster.applied) == 1


# ── what is refused ───────────────────────────────────────────────────────────────────────────────────────

BOMB = "a0: &a0 x\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
META = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n"
WANT_OBJECT = "want a mapping with apiVersion, kind and metadata"

BAD: dict[str, tuple[str, list[str]]] = {
    "a list is no object": ("- a\n- b\n", [f"x.yaml:1: is a list, {WANT_OBJECT}"]),
    "a word is no object": ("# c\n\nhello\n", [f"x.yaml:3: is 'hello', {WANT_OBJECT}"]),
    "kind is missing": (
        "metadata: {name: a}\n",
        ["x.yaml:1: kind: is missing, want the name of a kind, like ServiceAccount"],
    ),
    "apiVersion is missing": (
        "kind: Deployment\nmetadata: {name: a}\n",
        ["x.yaml:1: apiVersion: is missing, want 'apps/v1'"],
    ),
    "metadata is missing": (
        "apiVersion: v1\nkind: ServiceAccount\n",
        ["x.yaml:1: metadata: is missing, want a mapping with at least a name"],
    ),
    "the name is missing": (
        f"{META}  labels: {{}}\n",
        ["x.yaml:3: metadata.name: is missing, want a name (a string)"],
    ),
    "the name is a number": (f"{META}  name: 7\n", ["x.yaml:4: metadata.name: is 7, want a name (a string)"]),
    "an annotation is a truth value": (
        f"{META}  name: a\n  annotations:\n    # on\n    cwii.dev/aws-inject: true\n",
        ['x.yaml:7: metadata.annotations[cwii.dev/aws-inject]: is true, want a quoted string: "true"'],
    ),
    "an annotation is a number": (
        f"{META}  name: a\n  annotations: {{x: 3600}}\n",
        ['x.yaml:5: metadata.annotations.x: is 3600, want a quoted string: "3600"'],
    ),
    "an annotation has no value": (
        f"{META}  name: a\n  annotations:\n    x:\n",
        ["x.yaml:6: metadata.annotations.x: is missing, want a quoted string"],
    ),
    "annotations are a list": (
        f"{META}  name: a\n  annotations: [x]\n",
        ["x.yaml:5: metadata.annotations: is a list, want a mapping from strings to strings"],
    ),
    "an object stands twice": (
        f"{META}  name: a\n---\n{META}  name: a\n  namespace: default\n",
        ["x.yaml:6: ServiceAccount default/a: stands at x.yaml:1 already, want it once"],
    ),
    "a key stands twice": (
        f"{META}  name: a\n  name: b\n",
        ["x.yaml:5: key 'name' is twice in one mapping, want it once"],
    ),
    "an item of a list is bad": (
        "kind: List\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {}\n- 7\n",
        [
            "x.yaml:5: items[0].metadata.name: is missing, want a name (a string)",
            f"x.yaml:6: items[1]: is 7, {WANT_OBJECT}",
        ],
    ),
    "the syntax is wrong, and the next document too": (
        "a: [\n---\nb: }\n---\n- ok\n",
        [
            "x.yaml:2: is not YAML: did not find expected node content",
            "x.yaml:3: is not YAML: did not find expected node content",
            f"x.yaml:5: is a list, {WANT_OBJECT}",
        ],
    ),
    "tags are foreign": ("kind: !Ref x\n", ["x.yaml:1: has the tag '!Ref', want plain YAML"]),
    "control characters": (
        "kind: a\nb: \x01\n",
        ["x.yaml:2: is not YAML: control characters are not allowed"],
    ),
    "aliases explode": (
        BOMB,
        ["x.yaml:7: is more than 500000 nodes when aliases are written out, want fewer"],
    ),
    "an alias holds itself": (
        "a: &a [*a]\n",
        ["x.yaml:1: alias *a cannot be followed, want an anchor that does not hold the alias"],
    ),
    "nesting without end": ("[" * 100_000, ["x.yaml:1: is nested deeper than 100 levels, want fewer"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_manifests_are_reported_with_place_value_and_want(case: str, tmp_path: Path) -> None:
    text, expected = BAD[case]
    (tmp_path / "x.yaml").write_text(text)

    assert expected == [line.replace(str(tmp_path) + os.sep, "") for line in problems(tmp_path)]


def test_all_problems_of_all_files_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("- 1\n")
    (tmp_path / "b.json").write_text('{"kind": "X"\n')
    (tmp_path / "c.yaml").write_bytes(b"ok: 1\nbad: \xff\n")
    (tmp_path / "d.yaml").write_bytes(b"#" * (4 * 1024 * 1024 + 1))
    (tmp_path / "e.yaml").symlink_to(tmp_path / "nowhere")

    assert problems(tmp_path) == [
        f"a.yaml:1: is a list, {WANT_OBJECT}",
        "b.json:2: is not JSON: Expecting ',' delimiter (column 1)",
        "c.yaml:2: byte 11 is not UTF-8, want UTF-8",
        "d.yaml: is larger than 4194304 bytes, want smaller files",
        "e.yaml: cannot be read (No such file or directory), want a readable file",
    ]


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_what_is_no_directory_is_refused(kind: str, tmp_path: Path) -> None:
    if kind == "file":
        (tmp_path / "x").touch()

    (reported,) = problems(tmp_path / "x")

    assert reported.endswith("want a readable directory of manifests")


# ── when it reloads ───────────────────────────────────────────────────────────────────────────────────────


def test_a_change_is_read_and_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(ACCOUNT.format(name="a", inject="true"))
    cluster = loaded(tmp_path)
    heard: list[WatchEvent] = []
    cluster.subscribe(heard.append)

    file.write_text(ACCOUNT.format(name="a", inject="nope"))

    assert (cluster.check(), cluster.check()) == (True, False)
    assert [event.change for event in heard] == ["modified"]


def test_a_bad_change_is_reported_and_the_last_good_state_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(ACCOUNT.format(name="a", inject="true"))
    cluster = loaded(tmp_path)

    file.write_text("kind: [")

    assert (cluster.check(), cluster.check()) == (False, False)
    assert names(cluster) == ["a"]
    assert "a.yaml:1: is not YAML" in str(cluster.last_error)
    assert len(caplog.records) == 1

    file.write_text(ACCOUNT.format(name="b", inject="true"))

    assert cluster.check()
    assert names(cluster) == ["b"]
    assert cluster.last_error is None


def test_a_directory_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.yaml").write_text(ACCOUNT.format(name="a", inject="true"))
    cluster = loaded(home)

    home.rename(tmp_path / "away")

    assert not cluster.check()
    assert "want a readable directory" in str(cluster.last_error)
    assert names(cluster) == ["a"]

    (tmp_path / "away").rename(home)

    assert cluster.check()
    assert cluster.last_error is None


def mount(volume: Path, version: str, **files: str) -> None:
    """Write files as the kubelet does: into a new hidden directory, then one rename of ``..data``."""
    target = volume / f"..{version}"
    for name, text in files.items():
        file = target / name.replace("__", "/")
        file = file.with_suffix(".yaml")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        top = name.split("__")[0] if "__" in name else f"{name}.yaml"
        if not (volume / top).is_symlink():
            (volume / top).symlink_to(Path("..data") / top)
    (volume / "..data_tmp").symlink_to(target.name)
    (volume / "..data_tmp").rename(volume / "..data")


def test_the_swap_of_a_mounted_config_map_is_followed(tmp_path: Path) -> None:
    mount(tmp_path, "v1", a=ACCOUNT.format(name="a", inject="1"), sub__b=ACCOUNT.format(name="b", inject="1"))
    cluster = loaded(tmp_path)

    assert names(cluster) == ["a", "b"]

    mount(tmp_path, "v2", a=ACCOUNT.format(name="x", inject="1"), sub__b=ACCOUNT.format(name="y", inject="1"))

    assert cluster.check()
    assert names(cluster) == ["x", "y"]


def test_a_link_to_a_directory_above_is_no_endless_walk(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "a.yaml").write_text(ACCOUNT.format(name="a", inject="true"))

    assert names(loaded(tmp_path)) == ["a"]


def test_run_checks_until_it_is_cancelled(tmp_path: Path) -> None:
    cluster = loaded(tmp_path)

    async def scene() -> None:
        noticed = asyncio.Event()
        cluster.subscribe(lambda _: noticed.set())
        task = asyncio.create_task(cluster.run(0.01))
        (tmp_path / "a.yaml").write_text(ACCOUNT.format(name="a", inject="true"))
        await asyncio.wait_for(noticed.wait(), 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scene())

    assert names(cluster) == ["a"]
