"""Performs a rotation as far as possible now, and stores its state.

The state is a file next to the new key, written after each step that is done; every step can be done
twice. So it may be killed anywhere and called again. A key is never retired while the cluster signs with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from vestibule import atomicfiles, errors
from vestibule.clouds import publisher
from vestibule.clouds.objectstore.ports import ObjectStore
from vestibule.errors import InputProblem
from vestibule.kube.access import ClusterAccess
from vestibule.oidc import documents, jwks, keys, rotation
from vestibule.oidc.documents import DocumentFormat
from vestibule.oidc.keys import PublicKey
from vestibule.oidc.rotation import KeyRotationState, RotationAction, Stage
from vestibule.pki import signer
from vestibule.provision import cluster_keys, keypair
from vestibule.provision.cluster_keys import TokenAccount

STATE_NAME: Final = "rotation.json"


class RotationSetup(NamedTuple):
    """What is rotated, and how."""

    store: ObjectStore
    target: str
    """The store as the user names it."""
    issuer: str
    folder: Path
    """Of this rotation alone: state, and the new key pair."""
    shape: DocumentFormat = documents.AZURE
    public_key: PublicKey | None = None
    """The new public key, if its private key is elsewhere; None: a key pair is created."""
    old: tuple[str, ...] = ()
    """Ids that retire; empty: those that the cluster has, or all that are published now."""
    settle: float = rotation.SETTLE
    longest: float = rotation.LONGEST
    bits: int = signer.BITS
    access: ClusterAccess | None = None
    account: TokenAccount | None = None
    fetch: publisher.Fetch | None = None
    patience: float = publisher.PATIENCE
    clock: Callable[[], float] = time.time
    pause: Callable[[float], None] = time.sleep


class RotationProgress(NamedTuple):
    """The state after a call."""

    state: KeyRotationState
    stage: Stage
    next: RotationAction
    did: tuple[str, ...]
    """What this call did."""
    signs: tuple[str, ...] | None
    """Ids of keys that the cluster was observed to sign with; None: not observed."""


def advance(setup: RotationSetup, *, switched: bool = False) -> RotationProgress:
    """Do everything that can be done now. ``switched`` is the user's word that the new key signs.

    Raises InvalidInput, Conflict when another call is at work or the cluster signs with a key that this
    rotation does not know, and whatever publishing and looking raise.
    """
    atomicfiles.folder(setup.folder)
    with _alone(setup.folder):
        did: list[str] = []
        state = load(setup)
        if state is None:
            state = _begin(setup)
            did.append(f"made ready to rotate from {', '.join(state.old)} to {state.new}")
        seen = _observe(setup, state)
        while True:
            now = setup.clock()
            known = state
            if seen is not None and state.published and not state.retired:
                state = rotation.signing(state, seen, now)
            elif switched and state.published and not state.switched:
                _early(setup, state, now)
                state = rotation.signing(state, [state.new], now, observed=False)
            _describe(known, state, did)
            _retained(setup, known, state)
            action = rotation.action(state, now)
            if action.do == "publish":
                state = _publish(setup, state, did)
            elif action.do == "retire":
                state = _retire(setup, state, did)
            else:
                return RotationProgress(state, rotation.stage(state, now), action, tuple(did), seen)


def load(setup: RotationSetup) -> KeyRotationState | None:
    """The stored state. Raises InvalidInput if it is invalid, or that of another issuer or place."""
    path = setup.folder / STATE_NAME
    body = atomicfiles.read(path)
    if body is None:
        return None
    try:
        state = rotation.decode(body)
    except ValueError as error:
        raise errors.InvalidInput(InputProblem(str(path), "", str(error))) from None
    given = {"issuer": setup.issuer, "target": setup.target}
    problems = [
        InputProblem(
            str(path),
            field,
            f"is {getattr(state, field)!r}, and {value!r} is given: want a directory of its own",
        )
        for field, value in given.items()
        if getattr(state, field) != value
    ]
    if setup.public_key is not None and setup.public_key.kid != state.new:
        problems.append(
            InputProblem(str(path), "new", f"is {state.new}, and {setup.public_key.kid} is given")
        )
    if problems:
        raise errors.InvalidInput(*problems)
    return state


def outlook(setup: RotationSetup) -> tuple[KeyRotationState | None, tuple[str, ...]]:
    """What would be done, in words; nothing is written. The state, when a rotation is under way."""
    state = load(setup)
    where = setup.store.where
    old = state.old if state is not None else _old(setup)
    new = state.new if state is not None else (setup.public_key.kid if setup.public_key else "the new key")
    settle, longest = (state or setup).settle, (state or setup).longest
    steps = [
        f"make a key pair in {setup.folder}" if setup.public_key is None else f"take the key {new}",
        f"publish {new} in addition to {', '.join(old)} at {where}, and verify both at {setup.issuer}",
        f"wait {settle:.0f} s, so that copies in caches end",
        "wait until the cluster signs with the new key",
        f"wait {longest + rotation.MARGIN:.0f} s, so that tokens of the old key end",
        f"retire {', '.join(old)}",
    ]
    if state is None:
        return None, tuple(steps)
    return state, tuple(steps[_DONE[rotation.stage(state, setup.clock())] :])


_DONE: Final[dict[Stage, int]] = {
    "prepared": 1, "published": 2, "switching": 3, "draining": 4, "retiring": 5, "done": 6,
}  # fmt: skip


def _begin(setup: RotationSetup) -> KeyRotationState:
    publisher.refuse(setup.issuer, None)
    old = _old(setup)
    if setup.public_key is None:
        key = keypair.create(setup.folder, bits=setup.bits, existing="use").key
    else:
        key = setup.public_key
        _put_public(setup.folder, key)
    retiring = tuple(kid for kid in old if kid != key.kid)
    if not retiring:
        text = f"is {key.kid}, which is all that is published: want another key"
        raise errors.InvalidInput(InputProblem("new key", "", text))
    state = KeyRotationState(
        setup.issuer, setup.target, key.kid, retiring, setup.clock(), setup.settle, setup.longest
    )
    atomicfiles.create(setup.folder / STATE_NAME, rotation.encode(state))
    return state


def _old(setup: RotationSetup) -> tuple[str, ...]:
    """The ids that retire. Raises InvalidInput when one is not published, or when nothing is."""
    stored = setup.store.read(setup.shape.keys_name)
    try:
        published = tuple(jwks.parse(stored.body).by_kid) if stored is not None else ()
    except ValueError as error:
        raise errors.InvalidInput(
            InputProblem(setup.store.where, setup.shape.keys_name, str(error))
        ) from None
    if not published:
        text = "nothing is published there yet, want keys to rotate from: vestibule oidc publish"
        raise errors.InvalidInput(InputProblem(setup.store.where, setup.shape.keys_name, text))
    missing = [kid for kid in setup.old if kid not in published]
    if missing:
        text = f"published are {', '.join(published)}"
        raise errors.InvalidInput(
            *(InputProblem("--old", kid, f"is not published: {text}") for kid in missing)
        )
    if setup.old or setup.access is None:
        return setup.old or published
    # a key of the cluster that is not published yet will be, and retires like the others
    new = setup.public_key.kid if setup.public_key else ""
    theirs = tuple(key.kid for key in cluster_keys.documents(setup.access).keys if key.kid != new)
    return theirs or published


def _publish(setup: RotationSetup, state: KeyRotationState, did: list[str]) -> KeyRotationState:
    listed = [_new(setup, state)]
    if setup.access is not None:
        # whatever the cluster signs with must be there, were it another key than we think
        listed += [key for key in cluster_keys.documents(setup.access).keys if key.kid != state.new]
    _published(setup, listed, ())
    did.append(f"published {state.new} in addition to {', '.join(state.old)}")
    after = rotation.published(state, setup.clock())
    _retained(setup, state, after)
    return after


def _retire(setup: RotationSetup, state: KeyRotationState, did: list[str]) -> KeyRotationState:
    seen = _observe(setup, state)
    still = [kid for kid in state.old if kid in (seen or ())]
    if still:
        raise errors.Conflict(f"the cluster still signs with {', '.join(still)}: it is not retired")
    _published(setup, [_new(setup, state)], state.old)
    did.append(f"retired {', '.join(state.old)}")
    after = rotation.retired(state, setup.clock())
    _retained(setup, state, after)
    return after


def _published(setup: RotationSetup, listed: list[PublicKey], retire: tuple[str, ...]) -> None:
    publisher.publish(
        setup.store,
        setup.issuer,
        listed,
        shape=setup.shape,
        retire=retire,
        fetch=setup.fetch,
        patience=setup.patience,
        pause=setup.pause,
    )


def _observe(setup: RotationSetup, state: KeyRotationState) -> tuple[str, ...] | None:
    """Ids that the cluster signs with now; None if that cannot be observed. Raises Conflict for an unknown
    key, and for a token under the new id that the new key did not sign."""
    if setup.access is None or setup.account is None or state.retired:
        return None
    found = cluster_keys.signed(setup.access, setup.account)
    kids = tuple(sorted({token.kid for token in found}))
    unknown_kids = rotation.unknown_kids(state, kids)
    if unknown_kids and state.published:
        text = f"the cluster signs with {', '.join(unknown_kids)}, which is neither old nor new here"
        raise errors.Conflict(f"{text}: publish the cluster's keys, and begin another rotation")
    (new,) = jwks.parse(documents.key_set([_new(setup, state)])).keys
    if any(token.kid == state.new and not jwks.verifies(token, new) for token in found):
        raise errors.Conflict(f"a token names {state.new} and was not signed with that key")
    return kids


def _early(setup: RotationSetup, state: KeyRotationState, now: float) -> None:
    if rotation.stage(state, now) == "published":
        left = state.published + state.settle - now
        text = f"the new key may sign in {left:.0f} s: copies in caches may still lack it"
        raise errors.InvalidInput(InputProblem("--switched", "", text))


def _new(setup: RotationSetup, state: KeyRotationState) -> PublicKey:
    """The new key, from the folder. Raises InvalidInput when it is gone or another."""
    path = setup.folder / keypair.PUBLIC_NAME
    content = atomicfiles.read(path)
    if content is None:
        raise errors.InvalidInput(InputProblem(str(path), "", f"is gone, want the public key {state.new}"))
    for key in keys.read(content.decode("utf-8", "replace"), str(path)):
        if key.kid == state.new:
            return key
    raise errors.InvalidInput(InputProblem(str(path), "", f"is another key, want {state.new}"))


def _put_public(folder: Path, key: PublicKey) -> None:
    path = folder / keypair.PUBLIC_NAME
    if atomicfiles.read(path) != key.pem.encode():
        atomicfiles.create(path, key.pem.encode(), 0o644)


def _retained(setup: RotationSetup, before: KeyRotationState, after: KeyRotationState) -> None:
    if before != after:
        atomicfiles.replace(setup.folder / STATE_NAME, rotation.encode(after))


def _describe(before: KeyRotationState, after: KeyRotationState, did: list[str]) -> None:
    if after.switched and not before.switched:
        did.append(f"{'observed' if after.observed else 'assumed'} that the cluster signs with {after.new}")
    elif before.switched and not after.switched:
        did.append("observed a token of an old key again: the wait for such tokens starts again")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One call at a time."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise errors.Conflict(f"{folder}: another call is at work there") from None
    finally:
        os.close(opened)
