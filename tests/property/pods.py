"""Strategies: any pod, any annotations, with fields nobody knows yet and names that try to break a
pointer."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from vestibule.api import annotation_keys
from vestibule.injection import layouts
from vestibule.injection.dialects import cwii_keys

Json = dict[str, Any]

POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/c"
VALUES = st.one_of(
    st.sampled_from(
        [
            "true", "false", " TRUE ", "yes", "", "600", "86401", "1_000", "-5", "9" * 30,
            "arn:aws:iam::123456789012:role/app", "eu-west-1", "job-$(POD_NAME)", "annotation", "config-map",
            "init-container", "11111111-1111-1111-1111-111111111111", "https://login.microsoftonline.us/",
            POOL,
            "app@project.iam.gserviceaccount.com", "app", "*", "a,b;c", '"}],"op":"remove', "~1~0/-",
            "\u0000", "é\n",
        ]
    ),
    st.text(max_size=20),
)  # fmt: skip
KEYS = st.one_of(
    st.sampled_from(sorted(cwii_keys.KEYS)),
    st.sampled_from(
        [*annotation_keys.NATIVE_KEYS, "cwii.dev/nonsense", "cwi.dev/aws-inject", "a~b/c~1d", "plain"]
    ),
    st.text(max_size=12),
)
_ASKS: list[dict[str, str]] = [
    {"cwii.dev/aws-inject": "true", "cwii.dev/aws-role-arn": "arn:aws:iam::123456789012:role/app"},
    {
        "cwii.dev/gcp-inject": "true",
        "cwii.dev/gcp-audience": POOL,
    },
    {
        "cwii.dev/az-inject": "true",
        "cwii.dev/az-client-id": "11111111-1111-1111-1111-111111111111",
        "cwii.dev/az-tenant-id": "contoso.onmicrosoft.com",
    },
    {f"cwii.dev/{provider}-verify": "true" for provider in annotation_keys.PROVIDERS},
    {"cwii.dev/gcp-delivery": "init-container"},
]
_ANY = st.dictionaries(KEYS, VALUES, max_size=6)


def _merged(asks: list[dict[str, str]], more: dict[str, str]) -> dict[str, str]:
    full: dict[str, str] = {}
    for ask in asks:
        full |= ask
    return {**full, **more}


_ASKING = st.builds(
    _merged,
    st.lists(st.sampled_from(_ASKS), min_size=1, max_size=5),
    st.dictionaries(KEYS, VALUES, max_size=2),
)
ANNOTATIONS = st.one_of(_ASKING, _ASKING, _ANY, st.none())

_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=8))
UNKNOWN = st.dictionaries(
    st.text(min_size=1, max_size=6).map(lambda name: "future" + name),
    st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=5,
    ),
    max_size=2,
)

_ENV_NAMES = st.sampled_from(
    [
        "AWS_ROLE_ARN",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AZURE_CLIENT_ID",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "AWS_ACCESS_KEY_ID",
        "PATH",
    ]
)
ENV = st.builds(
    lambda name, value, more: {"name": name, **value, **more},
    _ENV_NAMES,
    st.one_of(
        st.builds(lambda text: {"value": text}, st.text(max_size=5)),
        st.just({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}),
        st.just({}),
    ),
    UNKNOWN,
)
_VOLUME_NAMES = st.sampled_from(
    [
        *map(layouts.token_volume, annotation_keys.PROVIDERS),
        layouts.GCP_CREDENTIALS_VOLUME,
        layouts.VERIFY_HOME_VOLUME,
        "data",
    ]
)
_PATHS = st.sampled_from(["/data", "/var/run/secrets/cwii.dev/aws", "/var/run/secrets/cwii.dev/gcp/", "/"])
MOUNT = st.builds(
    lambda name, path, more: {"name": name, "mountPath": path, **more}, _VOLUME_NAMES, _PATHS, UNKNOWN
)
VOLUME = st.builds(lambda name, more: {"name": name, "emptyDir": {}, **more}, _VOLUME_NAMES, UNKNOWN)
_NAMES = st.sampled_from(
    ["app", "side", "migrate", "a", "cwii-aws-verify", "cwii-gcp-creds-writer", "0", "-"]
)


def _list(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), st.lists(of, max_size=3))


@st.composite
def containers(draw: st.DrawFn) -> Json:
    """One container."""
    obj: Json = {"name": draw(_NAMES), "image": "a", **draw(UNKNOWN)}
    for field, strategy in (("env", ENV), ("volumeMounts", MOUNT)):
        if draw(st.booleans()):
            obj[field] = draw(_list(strategy))
    if draw(st.booleans()):
        obj["restartPolicy"] = "Always"
    return obj


@st.composite
def pods(draw: st.DrawFn) -> Json:
    """One pod as the API server might send it, or almost."""
    meta: Json = {"name": "p", "namespace": "team-a", **draw(UNKNOWN)}
    if not draw(st.sampled_from(["with", "with", "without"])).endswith("out"):
        meta["annotations"] = draw(ANNOTATIONS)
    if draw(st.booleans()):
        meta["labels"] = draw(st.dictionaries(st.sampled_from(["app", "cwii.dev/aws-inject"]), st.just("x")))
    spec: Json = {
        "containers": draw(st.lists(containers(), min_size=draw(st.sampled_from([1, 1, 0])), max_size=3)),
        **draw(UNKNOWN),
    }
    if draw(st.booleans()):
        spec["serviceAccountName"] = "app"
    if draw(st.booleans()):
        spec["initContainers"] = draw(_list(containers()))
    if draw(st.booleans()):
        spec["volumes"] = draw(_list(VOLUME))
    if draw(st.booleans()):
        spec["os"] = {"name": draw(st.sampled_from(["linux", "windows"]))}
    if draw(st.booleans()):
        spec["hostNetwork"] = draw(st.booleans())
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, **draw(UNKNOWN)}


@st.composite
def clusters(draw: st.DrawFn) -> list[Json | None]:
    """Namespace and ServiceAccount with annotations, or without, or missing."""
    objects: list[Json | None] = []
    for kind, meta in (
        ("Namespace", {"name": "team-a"}),
        ("ServiceAccount", {"name": "app", "namespace": "team-a"}),
    ):
        if draw(st.booleans()):
            annotations = draw(ANNOTATIONS)
            objects.append(
                {"apiVersion": "v1", "kind": kind, "metadata": {**meta, "annotations": annotations or {}}}
            )
    return objects


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["better", "strict"]),
        "nativeAnnotations": st.booleans(),
        "required": st.booleans(),
        "onInvalid": st.sampled_from(["warn", "refuse"]),
        "mountRoot": st.sampled_from(["/var/run/secrets/cwii.dev", "/x///"]),
        "gcp": st.fixed_dictionaries(
            {},
            optional={
                "delivery": st.sampled_from(["annotation", "config-map", "init-container"]),
                "allowConfigMapWrites": st.booleans(),
                "defaultAudience": st.sampled_from(["", "//iam.googleapis.com/x"]),
            },
        ),
    },
)
