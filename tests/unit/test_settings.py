"""The settings file, flags and variables: what is taken, what is refused, and the words of the refusal."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest

from vestibule import errors, settingsfile
from vestibule.api.settings import schema
from vestibule.compat import cwii_flags

TOML = """\
mode = "strict"
mountRoot = "/opt/ids"

[gcp]
delivery = "init-container"

[exclude]
namespaces = ["infra-*"]
"""


def written(directory: Path, name: str, content: str) -> Path:
    path = directory / name
    path.write_text(content)
    return path


FORMS = {
    "settings.toml": TOML,
    "settings.json": '{"mode": "strict", "mountRoot": "/opt/ids", "gcp": {"delivery": "init-container"},'
    ' "exclude": {"namespaces": ["infra-*"]}}',
    "settings.yaml": "mode: strict\nmountRoot: /opt/ids\ngcp: {delivery: init-container}\n"
    "exclude: {namespaces: ['infra-*']}\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_three_forms_say_the_same(tmp_path: Path, name: str) -> None:
    settings = settingsfile.load(written(tmp_path, name, FORMS[name]), {})

    assert settings.mode == "strict"
    assert settings.mount_root == "/opt/ids"
    assert settings.gcp_delivery == "init-container"
    assert settings.exclude.namespaces == ("infra-*",)


BAD = {
    "an unknown name": (
        "settings.toml",
        'mode = "better"\n\n[gcp]\ndelivry = "x"\n',
        ":3: gcp",
        "unknown field `delivry`",
    ),
    "a wrong type": (
        "settings.toml",
        "[webhook]\ntimeoutSeconds = 'x'\n",
        ":2: webhook.timeoutSeconds",
        "Expected `int`",
    ),
    "a value out of range": (
        "settings.yaml",
        "webhook:\n  # c\n  timeoutSeconds: 99\n",
        ":3:",
        "is 99, want 1 to 30",
    ),
    "broken TOML": ("settings.toml", "mode = \n", "settings.toml", "line 1"),
    "broken JSON": ("settings.json", '{"mode":\n}', ":2", "is no JSON"),
    "broken YAML": ("settings.yaml", "a: [\n", ":2", "is no YAML"),
    "another ending": ("settings.ini", "", "settings.ini", "want .toml, .json or .yaml"),
    "a list": ("settings.json", "[1]", "settings.json", "Expected `object`"),
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_bad_file_is_refused_with_path_and_line(tmp_path: Path, sentence: str) -> None:
    name, content, place, words = BAD[sentence]

    with pytest.raises(errors.InvalidSettings) as caught:
        settingsfile.load(written(tmp_path, name, content), {})

    assert place in str(caught.value)
    assert words in str(caught.value)


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    content = 'mountRoot = "relative"\n[webhook]\ntimeoutSeconds = 0\n[install]\nreplicas = 0\n'

    with pytest.raises(errors.InvalidSettings) as caught:
        settingsfile.load(written(tmp_path, "s.toml", content), {})

    assert [problem.field for problem in caught.value.problems] == [
        "mountRoot",
        "webhook.timeoutSeconds",
        "install.replicas",
    ]


def test_namespaces_of_control_planes_are_names_each_once_and_want_hosted(tmp_path: Path) -> None:
    def fields(content: str) -> list[str]:
        with pytest.raises(errors.InvalidSettings) as caught:
            settingsfile.load(written(tmp_path, "s.toml", content), {})
        return [problem.field for problem in caught.value.problems]

    named = 'hostedNamespaces = ["a", "Team", "a"]\n'
    assert fields(f"[install]\nhosted = true\n{named}") == [
        "install.hostedNamespaces[1]",
        "install.hostedNamespaces[2]",
    ]
    assert fields('[install]\nhostedNamespaces = ["a"]\n') == ["install.hostedNamespaces"]


def test_kinds_that_may_be_embedded_are_explicit_each_once_and_want_aro(tmp_path: Path) -> None:
    def fields(content: str) -> list[str]:
        with pytest.raises(errors.InvalidSettings) as caught:
            settingsfile.load(written(tmp_path, "s.toml", content), {})
        return [problem.field for problem in caught.value.problems]

    good = '"network.azure.com/NatGateway/natgateways"'
    listed = f'aroKinds = [{good}, "*/*/*", {good}, "apps/Deployment/deployments"]\n'
    assert fields(f"[install]\naro = true\n{listed}") == [
        "install.aroKinds[1]",
        "install.aroKinds[2]",
        "install.aroKinds[3]",
    ]
    assert fields(f"[install]\naroKinds = [{good}]\n") == ["install.aroKinds"]


def test_a_missing_file_is_reported() -> None:
    with pytest.raises(errors.InvalidSettings, match="does not exist"):
        settingsfile.load(Path("nowhere.toml"), {})


def test_an_empty_file_means_the_defaults(tmp_path: Path) -> None:
    assert settingsfile.load(written(tmp_path, "s.yaml", ""), {}) == schema.Settings()


def test_a_changed_file_is_taken_up_and_a_bad_one_is_not(tmp_path: Path) -> None:
    path = written(tmp_path, "s.toml", 'mode = "better"\n')
    watched = settingsfile.WatchedSettings(path, {})

    path.write_text('mode = "worse" # longer\n')
    assert watched.check() is False
    assert watched.settings == schema.Settings()
    assert "s.toml:1: mode" in watched.error

    path.write_text('mode = "strict"\n')
    assert watched.check() is True
    assert watched.settings.mode == "strict"
    assert watched.error == ""


def test_a_file_that_could_not_be_read_for_want_of_file_descriptors_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path, "settings.toml", 'mode = "better"')
    watched = settingsfile.WatchedSettings(path, {})
    path.write_text('mode = "strict"')
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert not watched.check()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "Too many open files" in watched.error

    assert watched.check()
    assert (watched.settings.mode, watched.error) == ("strict", "")


def test_a_file_that_vanishes_leaves_the_last_good_settings(tmp_path: Path) -> None:
    path = written(tmp_path, "s.toml", 'mode = "strict"\n')
    watched = settingsfile.WatchedSettings(path, {})

    path.unlink()

    assert watched.check() is False
    assert watched.settings.mode == "strict"
    assert "does not exist" in watched.error


def test_flags_beat_variables_and_both_beat_the_file(tmp_path: Path) -> None:
    path = written(
        tmp_path, "s.toml", 'mountRoot = "/file"\n[aws]\nverifyImage = "file"\n[az]\nverifyImage = "file"\n'
    )
    environ = {"CWII_MOUNT_ROOT": "/variable", "CWII_AWS_VERIFY_IMAGE": "variable"}

    over = cwii_flags.overrides({"mount-root": "/flag"}, environ)
    settings = settingsfile.load(path, over)

    assert settings.mount_root == "/flag"
    assert settings.aws.verify_image == "variable"
    assert settings.az.verify_image == "file"


@pytest.mark.parametrize("flag", cwii_flags.CWII, ids=lambda flag: flag.name)
def test_every_flag_reaches_its_setting(flag: cwii_flags.CwiiFlag) -> None:
    value = {
        "bool": "false",
        "int": "1200",
        "address": "[::]:1",
        "delivery": "Config_Map",
        "text": "/some/text",
    }[flag.form]
    data: Any = cwii_flags.overrides({}, {flag.variable: value})

    for key in flag.path:
        data = data[key]

    assert data == {"bool": False, "int": 1200, "delivery": "config-map"}.get(flag.form, value)
    schema.parse(cwii_flags.overrides({flag.name: value}, {}), "flags")


def test_bad_flags_are_reported_by_name_all_at_once() -> None:
    with pytest.raises(errors.InvalidSettings) as caught:
        cwii_flags.overrides(
            {"aws-enabled": "yes", "token-expiration": "1h"},
            {"CWII_GCP_DELIVERY": "pigeon", "CWII_AZ_ENABLED": ""},
        )

    assert [problem.place for problem in caught.value.problems] == [
        "--token-expiration",
        "CWII_GCP_DELIVERY",
        "--aws-enabled",
        "CWII_AZ_ENABLED",
    ]


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [("info", "info"), ("warn,kube=debug", "warning"), ("TRACE", "debug"), ("kube=debug", None), ("", None)],
)
def test_rust_log_sets_the_level(given_text: str, expected: str | None) -> None:
    assert cwii_flags.log_level(given_text) == expected
