"""A rotation over real files and a real site: all the way, cut at every single step, and what it refuses."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.oidc import falling, making
from tests.oidc.making import Killed, Watched
from tests.oidc.site import Clock, Site
from tests.serving.authority import Authority
from vestibule import errors
from vestibule.clouds import publisher
from vestibule.clouds.objectstore.directory import Directory
from vestibule.clouds.objectstore.ports import Content, ObjectStore
from vestibule.oidc import rotation as stages
from vestibule.provision import keypair, rotation
from vestibule.provision.rotation import RotationSetup

JWKS = "openid/v1/jwks"


@pytest.fixture
def site(authority: Authority, tmp_path: Path) -> Iterator[Site]:
    with Site(authority, Directory(tmp_path / "site")) as created:
        publisher.publish(created.store, created.url, [making.key(0)])
        yield created


@pytest.fixture
def clock() -> Clock:
    return Clock(1_000_000.0)


def setup_of(
    site: Site, folder: Path, clock: Clock, store: ObjectStore | None = None, **more: Any
) -> RotationSetup:
    options = {"fetch": site.fetch, "patience": 0.0, "bits": 2048, **more}
    return RotationSetup(
        store or site.store, "dir:site", site.url, folder, clock=clock, pause=clock.pause, **options
    )


def published(site: Site) -> list[str]:
    stored = site.store.read(JWKS)
    assert stored is not None
    return [key["kid"] for key in json.loads(stored.body)["keys"]]


def test_all_the_way(site: Site, tmp_path: Path, clock: Clock) -> None:
    setup, old = setup_of(site, tmp_path / "rotation", clock), making.key(0).kid

    first = rotation.advance(setup)
    new = first.state.new
    assert (first.stage, first.next.do, published(site)) == ("published", "wait", [old, new])
    assert len(first.did) == 2

    with pytest.raises(errors.InvalidInput, match="may sign in 900 s"):
        rotation.advance(setup, switched=True)
    clock.pause(stages.SETTLE)
    assert rotation.advance(setup).stage == "switching"
    reported = rotation.advance(setup, switched=True)
    assert (reported.stage, reported.state.observed) == ("draining", False)

    clock.pause(stages.LONGEST)
    assert rotation.advance(setup).stage == "draining"
    assert published(site) == [old, new]
    clock.pause(stages.MARGIN)
    last = rotation.advance(setup)
    assert (last.stage, last.next.do, published(site)) == ("done", "nothing", [new])
    assert rotation.advance(setup).did == ()


def test_the_files_are_private_and_the_state_holds_no_key(site: Site, tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "rotation"
    rotation.advance(setup_of(site, folder, clock))

    private = (folder / keypair.PRIVATE_NAME).read_text()
    state = (folder / rotation.STATE_NAME).read_text()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {
        keypair.PRIVATE_NAME: 0o600,
        keypair.PUBLIC_NAME: 0o644,
        rotation.STATE_NAME: 0o600,
    }
    pieces = private.splitlines()[9:-2]  # behind the modulus, which is public
    assert len(pieces) > 10
    stored = state + "".join(path.read_text() for path in (tmp_path / "site").rglob("*") if path.is_file())
    assert not any(piece in stored for piece in pieces)


def test_cut_at_every_call_it_goes_on_and_never_leaves_a_signer_unpublished(
    site: Site, tmp_path: Path, clock: Clock
) -> None:
    clean = site.store.read(JWKS)
    assert clean is not None
    for cut in itertools.count(1):
        site.store.write(JWKS, Content(clean.body))
        folder = tmp_path / f"rotation-{cut}"
        calls = itertools.count(1)

        def fall(*_: str, at: int = cut, calls: Iterator[int] = calls) -> None:
            if next(calls) == at:
                raise Killed

        store = Watched(site.store, fall, lambda _: fall())
        fetch = site.fetch

        def looked(url: str, fall: Any = fall, fetch: publisher.Fetch = fetch) -> Any:
            fall()
            return fetch(url)

        setup = setup_of(site, folder, clock, store, fetch=looked)
        cuts = walk(site, setup, clock)
        assert len(published(site)) == 1
        assert published(site) != [making.key(0).kid]
        if not cuts:
            assert cut > 12
            return


def walk(site: Site, setup: RotationSetup, clock: Clock) -> int:
    """Calls until it is done, as a person would; how often it was cut."""
    cuts, signer, switched = 0, making.key(0).kid, False
    for _ in range(100):
        try:
            progress = rotation.advance(setup, switched=switched)
        except Killed:
            cuts += 1
        else:
            switched = False
            if progress.next.do == "nothing":
                assert published(site) == [progress.state.new]
                return cuts
            if progress.next.do == "switch":
                signer, switched = progress.state.new, True
            clock.pause(max(0.0, progress.next.until - clock.now))
        assert signer in published(site)
    raise AssertionError("it does not end")


@pytest.mark.slow
@pytest.mark.parametrize("during", ["prepared", "switching", "retiring"])
def test_killed_at_every_flush_it_goes_on(tmp_path: Path, clock: Clock, during: str) -> None:
    """kill -9 for real, at each moment at which a file becomes lasting."""
    for fatal in itertools.count(1):
        store, folder = Directory(tmp_path / f"site-{fatal}"), tmp_path / f"rotation-{fatal}"
        publisher.publish(store, falling.ISSUER, [making.key(0)])
        setup = RotationSetup(store, "dir:site", falling.ISSUER, folder, clock=clock, bits=2048)
        if during != "prepared":
            rotation.advance(setup)
            clock.pause(stages.SETTLE)
        if during == "retiring":
            rotation.advance(setup, switched=True)
            clock.pause(stages.LONGEST + stages.MARGIN)
        words = [
            store.where,
            str(folder),
            str(clock.now),
            "yes" if during == "switching" else "no",
            str(fatal),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "tests.oidc.falling", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        left = json.loads((tmp_path / f"site-{fatal}" / JWKS).read_text())["keys"]
        assert (making.key(0).kid in [key["kid"] for key in left]) or during == "retiring"
        assert left
        _through(setup, clock)
        (kid,) = [key["kid"] for key in json.loads((tmp_path / f"site-{fatal}" / JWKS).read_text())["keys"]]
        assert kid == rotation.advance(setup).state.new
        assert (folder / keypair.PRIVATE_NAME).stat().st_mode & 0o777 == 0o600
        if done.returncode == 0:
            assert fatal > 1
            return
        assert done.returncode == -signal.SIGKILL


def test_two_calls_at_once_are_refused(site: Site, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "r").mkdir()
    opened = os.open(tmp_path / "r", os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    with pytest.raises(errors.Conflict, match="another call is at work"):
        rotation.advance(setup_of(site, tmp_path / "r", clock))
    os.close(opened)


def test_a_key_whose_private_half_is_elsewhere(site: Site, tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "rotation"
    progress = rotation.advance(setup_of(site, folder, clock, public_key=making.key(1)))

    assert progress.state.new == making.key(1).kid
    assert sorted(path.name for path in folder.iterdir()) == [rotation.STATE_NAME, keypair.PUBLIC_NAME]
    with pytest.raises(errors.InvalidInput, match=f"and {making.key(2).kid} is given"):
        rotation.advance(setup_of(site, folder, clock, public_key=making.key(2)))


def test_only_what_is_named_retires(site: Site, tmp_path: Path, clock: Clock) -> None:
    publisher.publish(site.store, site.url, [making.key(2)])
    setup = setup_of(site, tmp_path / "r", clock, old=(making.key(0).kid,), public_key=making.key(1))

    _through(setup, clock)
    assert published(site) == [making.key(2).kid, making.key(1).kid]


def _through(setup: RotationSetup, clock: Clock) -> None:
    """To the end, from wherever it stands."""
    for _ in range(10):
        progress = rotation.advance(setup)
        if progress.next.do == "nothing":
            return
        if progress.next.do == "switch":
            progress = rotation.advance(setup, switched=True)
        clock.pause(max(0.0, progress.next.until - clock.now))
    raise AssertionError("it does not end")


def test_what_is_refused_at_the_beginning(site: Site, tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "r"
    with pytest.raises(errors.InvalidInput, match="nothing is published there yet"):
        rotation.advance(setup_of(site, folder, clock, Directory(tmp_path / "empty")))
    with pytest.raises(errors.InvalidInput, match="--old: nobody: is not published"):
        rotation.advance(setup_of(site, folder, clock, old=("nobody",)))
    with pytest.raises(errors.InvalidInput, match="want another key"):
        rotation.advance(setup_of(site, folder, clock, public_key=making.key(0)))
    assert not (folder / rotation.STATE_NAME).exists()
    assert published(site) == [making.key(0).kid]


def test_a_directory_of_another_rotation_is_refused(site: Site, tmp_path: Path, clock: Clock) -> None:
    setup = setup_of(site, tmp_path / "r", clock)
    rotation.advance(setup)

    with pytest.raises(errors.InvalidInput) as caught:
        rotation.advance(setup._replace(issuer="https://other.example", target="s3://other"))
    assert [problem.field for problem in caught.value.problems] == ["issuer", "target"]


@pytest.mark.parametrize("content", [b"", b"{}", b"x" * 10])
def test_a_state_that_is_none_is_refused(site: Site, tmp_path: Path, clock: Clock, content: bytes) -> None:
    setup = setup_of(site, tmp_path, clock)
    (tmp_path / rotation.STATE_NAME).write_bytes(content)

    with pytest.raises(errors.InvalidInput, match="is no state of a rotation"):
        rotation.advance(setup)


def test_a_state_or_a_key_that_is_a_link_is_refused(site: Site, tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / rotation.STATE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.InvalidInput, match="is a symbolic link"):
        rotation.advance(setup_of(site, tmp_path / "r", clock))
    (tmp_path / "r" / rotation.STATE_NAME).unlink()
    (tmp_path / "r" / keypair.PRIVATE_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.InvalidInput, match="is a symbolic link"):
        rotation.advance(setup_of(site, tmp_path / "r", clock))
    assert not (tmp_path / "elsewhere").exists()


def test_a_public_key_that_is_gone_or_changed_is_not_published(
    site: Site, tmp_path: Path, clock: Clock
) -> None:
    setup = setup_of(site, tmp_path / "r", clock)
    rotation.advance(setup)
    clock.pause(stages.SETTLE)
    rotation.advance(setup, switched=True)
    clock.pause(stages.LONGEST + stages.MARGIN)
    public = tmp_path / "r" / keypair.PUBLIC_NAME
    public.write_text(making.public(3))

    with pytest.raises(errors.InvalidInput, match="is another key"):
        rotation.advance(setup)
    public.unlink()
    with pytest.raises(errors.InvalidInput, match="is gone"):
        rotation.advance(setup)


def test_the_outlook_writes_nothing(site: Site, tmp_path: Path, clock: Clock) -> None:
    setup = setup_of(site, tmp_path / "r", clock)

    state, steps = rotation.outlook(setup)
    assert (state, len(steps)) == (None, 6)
    assert not (tmp_path / "r").exists()
    rotation.advance(setup)
    assert len(rotation.outlook(setup)[1]) == 4
