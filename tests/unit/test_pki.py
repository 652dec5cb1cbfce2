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
LIVES = rotation.CertificateLifetimes(authority=90 * DAY, leaf=9 * DAY, overlap=datetime.timedelta(minutes=2))


def first() -> rotation.StoredCertificate:
    return rotation.next_state(None, [], NAMES, START, LIVES)


def test_the_first_state_is_a_ca_and_a_leaf_it_signed() -> None:
    kept = first()

    assert certificate_authority.signed_by(kept.leaf.certificate, kept.signer.certificate)
    assert kept.bundle == (kept.signer.certificate,)
    assert certificate_authority.names(kept.leaf.certificate) == NAMES


def test_nothing_to_do_gives_the_same_object() -> None:
    kept = first()

    assert rotation.next_state(kept, kept.bundle, NAMES, START + DAY, LIVES) is kept


def test_a_leaf_is_renewed_with_a_third_of_its_life_left() -> None:
    kept = first()

    later = rotation.next_state(kept, kept.bundle, NAMES, START + 7 * DAY, LIVES)

    assert later.leaf != kept.leaf
    assert later.signer == kept.signer


def test_other_names_mean_another_leaf() -> None:
    kept = first()

    later = rotation.next_state(kept, kept.bundle, ("other.hall.svc",), START, LIVES)

    assert certificate_authority.names(later.leaf.certificate) == ("other.hall.svc",)


def prepared() -> tuple[rotation.StoredCertificate, datetime.datetime]:
    now = START + 65 * DAY
    kept = first()
    kept = rotation.next_state(kept, kept.bundle, NAMES, START + 59 * DAY, LIVES)
    return rotation.next_state(kept, kept.bundle, NAMES, now, LIVES), now


def test_a_ca_is_published_beside_the_old_one_before_it_signs() -> None:
    kept, _ = prepared()

    assert kept.next_signer is not None
    assert kept.bundle == (kept.next_signer.certificate, kept.signer.certificate)
    assert certificate_authority.signed_by(kept.leaf.certificate, kept.signer.certificate)


@pytest.mark.parametrize(
    ("trusted", "minutes"), [(False, 60), (True, 0)], ids=["not seen in the caBundle", "not for long enough"]
)
def test_it_does_not_sign_while(trusted: bool, minutes: int) -> None:
    kept, now = prepared()
    seen = kept.bundle if trusted else kept.bundle[1:]

    later = rotation.next_state(kept, seen, NAMES, now + datetime.timedelta(minutes=minutes), LIVES)

    assert certificate_authority.signed_by(later.leaf.certificate, kept.signer.certificate)


def test_it_signs_once_it_has_been_trusted_for_long_enough_and_the_old_one_stays_trusted() -> None:
    kept, now = prepared()

    later = rotation.next_state(kept, kept.bundle, NAMES, now + datetime.timedelta(minutes=3), LIVES)

    assert later.next_signer is None
    assert later.signer == kept.next_signer
    assert certificate_authority.signed_by(later.leaf.certificate, later.signer.certificate)
    assert later.bundle == kept.bundle


def test_a_ca_leaves_the_bundle_when_it_expires() -> None:
    kept, now = prepared()
    kept = rotation.next_state(kept, kept.bundle, NAMES, now + datetime.timedelta(minutes=3), LIVES)
    for day in range(66, 92):
        kept = rotation.next_state(kept, kept.bundle, NAMES, START + day * DAY, LIVES)

    assert kept.bundle == (kept.signer.certificate,)


def test_a_secret_somebody_spoilt_is_made_anew_with_the_old_trust_kept() -> None:
    kept, other = first(), first()
    spoilt = kept._replace(leaf=other.leaf)

    later = rotation.next_state(spoilt, kept.bundle, NAMES, START, LIVES)

    assert certificate_authority.signed_by(later.leaf.certificate, later.signer.certificate)
    assert kept.signer.certificate in later.bundle


@given(st.lists(st.tuples(st.integers(1, 30 * 24), st.booleans()), min_size=1, max_size=25))
def test_the_leaf_served_is_always_signed_by_a_ca_in_the_bundle_that_was_published(
    steps: list[tuple[int, bool]],
) -> None:
    now = START
    kept = first()
    published = kept.bundle
    for hours, publishes in steps:
        now += datetime.timedelta(hours=hours)
        kept = rotation.next_state(kept, published, NAMES, now, LIVES)
        if publishes or certificate_authority.dates(published[0]).until <= now:
            published = kept.bundle
        signer = next(ca for ca in kept.bundle if certificate_authority.signed_by(kept.leaf.certificate, ca))
        alive = certificate_authority.dates(signer).until > now
        assert alive
        assert (
            certificate_authority.dates(kept.leaf.certificate).until
            <= certificate_authority.dates(signer).until
        )
        if signer not in published:
            # only a CA that had to be made from nothing may sign before it was published
            assert (
                all(certificate_authority.dates(ca).until <= now for ca in published)
                or kept.signer.certificate == signer
            )
            published = kept.bundle
