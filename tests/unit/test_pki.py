"""The rotation of our own certificate: at no step is a leaf served whose CA is not published."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vestibule.pki import certificate_authority, rotation

NAMES = ("vestibule.hall.svc",)
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
LIVES = rotation.CertificateLifetimes(ca=90 * DAY, leaf=9 * DAY, overlap=datetime.timedelta(minutes=2))


def first() -> rotation.StoredCertificate:
    return rotation.next_state(None, [], NAMES, START, LIVES)


def test_the_first_state_is_a_ca_and_a_leaf_it_signed() -> None:
    stored = first()

    assert certificate_authority.signed_by(stored.leaf.certificate, stored.signer.certificate)
    assert stored.bundle == (stored.signer.certificate,)
    assert certificate_authority.names(stored.leaf.certificate) == NAMES


def test_nothing_to_do_gives_the_same_object() -> None:
    stored = first()

    assert rotation.next_state(stored, stored.bundle, NAMES, START + DAY, LIVES) is stored


def test_a_leaf_is_renewed_with_a_third_of_its_life_left() -> None:
    stored = first()

    later = rotation.next_state(stored, stored.bundle, NAMES, START + 7 * DAY, LIVES)

    assert later.leaf != stored.leaf
    assert later.signer == stored.signer


def test_other_names_mean_another_leaf() -> None:
    stored = first()

    later = rotation.next_state(stored, stored.bundle, ("other.hall.svc",), START, LIVES)

    assert certificate_authority.names(later.leaf.certificate) == ("other.hall.svc",)


def prepared() -> tuple[rotation.StoredCertificate, datetime.datetime]:
    now = START + 65 * DAY
    stored = first()
    stored = rotation.next_state(stored, stored.bundle, NAMES, START + 59 * DAY, LIVES)
    return rotation.next_state(stored, stored.bundle, NAMES, now, LIVES), now


def test_a_ca_is_published_beside_the_old_one_before_it_signs() -> None:
    stored, _ = prepared()

    assert stored.next_signer is not None
    assert stored.bundle == (stored.next_signer.certificate, stored.signer.certificate)
    assert certificate_authority.signed_by(stored.leaf.certificate, stored.signer.certificate)


@pytest.mark.parametrize(
    ("trusted", "minutes"), [(False, 60), (True, 0)], ids=["not seen in the caBundle", "not for long enough"]
)
def test_it_does_not_sign_while(trusted: bool, minutes: int) -> None:
    stored, now = prepared()
    seen = stored.bundle if trusted else stored.bundle[1:]

    later = rotation.next_state(stored, seen, NAMES, now + datetime.timedelta(minutes=minutes), LIVES)

    assert certificate_authority.signed_by(later.leaf.certificate, stored.signer.certificate)


def test_it_signs_once_it_has_been_trusted_for_long_enough_and_the_old_one_stays_trusted() -> None:
    stored, now = prepared()

    later = rotation.next_state(stored, stored.bundle, NAMES, now + datetime.timedelta(minutes=3), LIVES)

    assert later.next_signer is None
    assert later.signer == stored.next_signer
    assert certificate_authority.signed_by(later.leaf.certificate, later.signer.certificate)
    assert later.bundle == stored.bundle


def test_a_ca_leaves_the_bundle_when_it_expires() -> None:
    stored, now = prepared()
    stored = rotation.next_state(stored, stored.bundle, NAMES, now + datetime.timedelta(minutes=3), LIVES)
    for day in range(66, 92):
        stored = rotation.next_state(stored, stored.bundle, NAMES, START + day * DAY, LIVES)

    assert stored.bundle == (stored.signer.certificate,)


def test_a_secret_somebody_spoilt_is_recreated_with_the_old_trust_kept() -> None:
    stored, other = first(), first()
    spoilt = stored._replace(leaf=other.leaf)

    later = rotation.next_state(spoilt, stored.bundle, NAMES, START, LIVES)

    assert certificate_authority.signed_by(later.leaf.certificate, later.signer.certificate)
    assert stored.signer.certificate in later.bundle


@given(st.lists(st.tuples(st.integers(1, 30 * 24), st.booleans()), min_size=1, max_size=25))
def test_the_leaf_served_is_always_signed_by_a_ca_in_the_bundle_that_was_published(
    steps: list[tuple[int, bool]],
) -> None:
    now = START
    stored = first()
    published = stored.bundle
    for hours, publishes in steps:
        now += datetime.timedelta(hours=hours)
        stored = rotation.next_state(stored, published, NAMES, now, LIVES)
        if publishes or certificate_authority.dates(published[0]).until <= now:
            published = stored.bundle
        signer = next(
            ca for ca in stored.bundle if certificate_authority.signed_by(stored.leaf.certificate, ca)
        )
        alive = certificate_authority.dates(signer).until > now
        assert alive
        assert (
            certificate_authority.dates(stored.leaf.certificate).until
            <= certificate_authority.dates(signer).until
        )
        if signer not in published:
            # only a CA that had to be made from nothing may sign before it was published
            assert (
                all(certificate_authority.dates(ca).until <= now for ca in published)
                or stored.signer.certificate == signer
            )
            published = stored.bundle
