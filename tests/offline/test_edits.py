"""Edits of YAML text: what is put in is there, what was there stays, in every style people write."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.offline.scene import document

from vestibule.admission import apply, pointer
from vestibule.diagnose.offline import manifest_files
from vestibule.yamledit import yaml_documents

ENV = {"name": "A", "value": "1"}

CASES: dict[str, tuple[str, str, Any, str]] = {
    "a key goes behind the last content and before the comments that follow": (
        "a:\n  b: 1 # one\n\n  # about d\nd: 2\n",
        "/a/c",
        "x",
        "a:\n  b: 1 # one\n  c: x\n\n  # about d\nd: 2\n",
    ),
    "an item takes the indentation of its list": (
        "a:\n    - b: 1\n      c: 2\n# end\n",
        "/a/-",
        {"b": 3, "c": [4]},
        "a:\n    - b: 1\n      c: 2\n    - b: 3\n      c:\n          - 4\n# end\n",
    ),
    "an item in front goes above the comment of the first one": (
        "a:\n# first\n- x\n- y\n",
        "/a/0",
        "w",
        "a:\n- w\n# first\n- x\n- y\n",
    ),
    "an item in the middle goes above the comment of the next one": (
        "a:\n- x\n# next\n- y\n",
        "/a/1",
        "w",
        "a:\n- x\n- w\n# next\n- y\n",
    ),
    "metadata goes first, as people write it": (
        "t:\n  # the spec\n  spec: {}\n",
        "/t/metadata",
        {"labels": {}},
        "t:\n  metadata:\n    labels: {}\n  # the spec\n  spec: {}\n",
    ),
    "an empty list becomes a block and keeps its comment": (
        "env: [] # none\nx: 1\n",
        "/env/-",
        ENV,
        'env: # none\n- name: A\n  value: "1"\nx: 1\n',
    ),
    "a key without a value gets one": ("a:\nb: 1\n", "/a", {"c": "d"}, "a:\n  c: d\nb: 1\n"),
    "a scalar is replaced and its comment stays": ("a: 'x'  # why\n", "/a", "z", "a: z  # why\n"),
    "a block is replaced by a word": ("a:\n  b: 1\nc: 2\n", "/a", "z", "a: z\nc: 2\n"),
    "a block is replaced by a block": ("a:\n  b: 1\nc: 2\n", "/a", {"d": 3}, "a:\n  d: 3\nc: 2\n"),
    "flow style stays flow style": (
        "a: {b: [1, 2], c: d} # x\n",
        "/a/b/-",
        {"e": "f g"},
        'a: {b: [1, 2, {e: "f g"}], c: d} # x\n',
    ),
    "flow style over lines": ("a: {\n  b: 1, # x\n}\n", "/a/c", 2, "a: {\n  b: 1, c: 2, # x\n}\n"),
    "an item in front of a flow list": ("a: [b, c]\n", "/a/0", "z", "a: [z, b, c]\n"),
    "blank lines that belong to a text stay with it": (
        "a:\n  b: |+\n    x\n\nc: 1\n",
        "/a/d",
        2,
        "a:\n  b: |+\n    x\n\n  d: 2\nc: 1\n",
    ),
    "blank lines behind a text that do not belong to it stay behind": (
        "a:\n  b: |\n    x\n\nc: 1\n",
        "/a/d",
        2,
        "a:\n  b: |\n    x\n  d: 2\n\nc: 1\n",
    ),
    "an alias is written out where it must differ": (
        "x: &x\n- 1\ny: *x # same\n",
        "/y/-",
        2,
        "x: &x\n- 1\ny: # same\n- 1\n- 2\n",
    ),
    "a key that was merged in is written out where it must differ": (
        "x: &x\n  l:\n  - 1\ny:\n  <<: *x\n",
        "/y/l/-",
        2,
        "x: &x\n  l:\n  - 1\ny:\n  <<: *x\n  l:\n  - 1\n  - 2\n",
    ),
    "a list behind an anchor": ("a: &a\n  - 1\n", "/a/-", 2, "a: &a\n  - 1\n  - 2\n"),
    "Windows line ends stay": ("a:\r\n  b: 1\r\n", "/a/c", {"d": 2}, "a:\r\n  b: 1\r\n  c:\r\n    d: 2\r\n"),
    "a file without a last line end": ("a:\n  b: 1", "/a/c", 2, "a:\n  b: 1\n  c: 2\n"),
    "a document between markers": ("---  # one\na: 1\n...\n", "/b", 2, "---  # one\na: 1\nb: 2\n...\n"),
    "what others take for a truth value is quoted": (
        "a: 1\n",
        "/b",
        ["no", "y", "0x1", "1.5", "", "a: b", "#", 'say "x"', "it's \\", "tab\t\u2028", "-", "ok-word"],
        'a: 1\nb:\n- "no"\n- "y"\n- "0x1"\n- "1.5"\n- ""\n- "a: b"\n- "#"\n- \'say "x"\'\n- \'it\'\'s \\\'\n'
        '- "tab\\t\\U00002028"\n- "-"\n- ok-word\n',
    ),
    "an anchor that is cut out but used below: the document is written anew": (
        "# head\na: &a [] # x\nb: *a\n",
        "/a/-",
        1,
        "# head\na:\n- 1\nb: []\n",
    ),
    "a change at an anchor must not reach its aliases: the document is written anew": (
        "---\na: &a\n- 1\nb: *a\n",
        "/a/-",
        2,
        "---\na:\n- 1\n- 2\nb:\n- 1\n",
    ),
    "a list in a list on one line: the document is written anew": ("- - 1\n", "/0/0", 0, "- - 0\n  - 1\n"),
}


@pytest.mark.parametrize("case", CASES)
def test_add(case: str) -> None:
    text, path, value, expected = CASES[case]

    result = manifest_files.patched(document(text), [{"op": "add", "path": path, "value": value}])

    assert expected == result.text
    assert document(result.text).value == result.value


def test_a_patch_without_effect_leaves_the_document_alone() -> None:
    before = document("a: {b: 1}  # as it is\n")

    assert manifest_files.patched(before, [{"op": "add", "path": "/a/b", "value": 1}]) is before


JSON_CASES = {
    "four columns": (
        '{\n    "a": [\n        1\n    ]\n}\n',
        '{\n    "a": [\n        1,\n        2\n    ]\n}\n',
    ),
    "tabs, no last line end": ('{\n\t"a": [1]\n}', '{\n\t"a": [\n\t\t1,\n\t\t2\n\t]\n}'),
    "one line": ('{"a": [1]}\n', '{"a": [1, 2]}\n'),
    "dense": ('{"a":[1],"ä":"ö"}', '{"a":[1,2],"ä":"ö"}'),
}


@pytest.mark.parametrize("case", JSON_CASES)
def test_json_stays_json_in_its_own_layout(case: str) -> None:
    text, expected = JSON_CASES[case]

    result = manifest_files.patched(document(text, "x.json"), [{"op": "add", "path": "/a/-", "value": 2}])

    assert expected == result.text


# ── every document, every add ─────────────────────────────────────────────────────────────────────────────

words = st.text(st.sampled_from("ab: #-'\"{}[],&*!|>%@`?~yno0.1\\é/"), max_size=6)
keys = words.filter(bool)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), words)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=12,
)
roots = st.dictionaries(keys, trees, min_size=1, max_size=4)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path at which something can be added."""
    if isinstance(value, dict):
        inside = [found for key, child in value.items() for found in places(child, (*path, key))]
        return [*((*path, key) for key in value), (*path, "new"), *inside]
    if isinstance(value, list):
        inside = [found for index, child in enumerate(value) for found in places(child, (*path, index))]
        return [*((*path, index) for index in range(len(value))), (*path, "-"), *inside]
    return []


class Indented(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


@st.composite
def commented(draw: st.DrawFn, value: Any) -> str:
    """The value in one of the styles of PyYAML, with comments between the lines."""
    text = yaml.dump(
        value,
        Dumper=draw(st.sampled_from([Indented, yaml.SafeDumper])),
        default_flow_style=draw(st.sampled_from([True, False, None])),
        indent=draw(st.sampled_from([2, 4])),
        width=10**6,
        sort_keys=False,
        allow_unicode=True,
    )
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if draw(st.booleans()):
            lines.append(f"{' ' * draw(st.integers(0, 4))}# comment {number}")
        lines.append(line)
    return "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n# end\n"]))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_the_text_after_means_what_the_patch_says_and_comments_survive(data: st.DataObject) -> None:
    value = data.draw(roots)
    text = data.draw(commented(value))
    before = document(text)
    assert before.value == value
    operations: list[dict[str, Any]] = []
    current = copy.deepcopy(value)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(current)))
        operation = {"op": "add", "path": pointer.pointer(*path), "value": data.draw(trees)}
        apply.patch(current, [copy.deepcopy(operation)])
        operations.append(operation)

    after = manifest_files.patched(before, operations)

    assert before.value == value
    assert current == after.value == document(after.text).value
    replaced = any(_exists(value, operation["path"]) for operation in operations)
    if not replaced and "- - " not in text:
        stored = [line for line in after.text.splitlines() if line.lstrip().startswith("# comment")]
        assert stored == [line for line in text.splitlines() if line.lstrip().startswith("# comment")]


def _exists(value: Any, path: str) -> bool:
    """Whether an add at this path replaces something."""
    *parents, last = pointer.tokens(path)
    for token in parents:
        value = value.get(token) if isinstance(value, dict) else None
        if value is None:
            return True
    return isinstance(value, dict) and last in value


@settings(max_examples=200, deadline=None)
@given(roots)
def test_our_reader_agrees_with_what_pyyaml_writes(value: Any) -> None:
    text = yaml.dump(value, Dumper=yaml.SafeDumper, allow_unicode=True)

    assert document(text).value == value


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["a: 1\n", "---\n", "--- # x\n", "...\n", "# c\n", "\n", "%YAML 1.1\n", "a: |\n  x\n"]
        )
    )
)
def test_pieces_joined_are_the_file(lines: list[str]) -> None:
    text = "".join(lines)

    assert "".join(yaml_documents.pieces(text)) == text


def test_a_key_is_removed_with_its_comment_and_nothing_else() -> None:
    text = (
        "spec:\n  # ours\n  resources:\n    requests: {cpu: 1}\n\n  # theirs\n  containers:\n    - name: a\n"
        "      resources:\n        limits: {cpu: 1}\n      image: b # kept\n"
    )
    paths = ("/spec/resources", "/spec/containers/0/resources")

    result = manifest_files.patched(document(text), [{"op": "remove", "path": path} for path in paths])

    assert result.text == "spec:\n\n  # theirs\n  containers:\n    - name: a\n      image: b # kept\n"
