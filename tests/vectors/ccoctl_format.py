"""The keys of the ccoctl family, by command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.vectors.formats import ANY, PROSE, Each, Format

Json = dict[str, Any]


def _keys(*names: str) -> dict[str, Format]:
    return dict.fromkeys(names, ANY)


_TOLD: Mapping[str, Format] = dict.fromkeys(
    ("note", "why", "upstream", "upstream_defect", "upstream_note", "unsupported_upstream"), PROSE
)
"""About upstream, for readers. Some of ``why`` switches a check on, see ``ccoctl._wanted``."""
_CALL: Format = {
    **_keys("method", "path", "body"),
    "query": PROSE,  # only reads have one, and what we read is our own affair
    "reply": _keys("status", "body", "error_code"),
    "note": PROSE,
}
_BLOB: Format = {**_keys("method", "url", "auth", "json", "headers_absent"), "headers": Each(ANY)}
_FILE: Format = _keys(
    *("mode", "content", "json", "yaml", "same_bytes_as", "pem_type", "encoding", "bits", "public_exponent"),
    *("matches", "empty_keys", "not_valid_yaml_until_edited"),
)
_FAULT: Format = _keys("on", "times", "status", "error_code")
_EXPECTED: Mapping[str, Format] = {
    **_keys("exit", "error", "error_contains", "missing", "skipped", "issuer_url", "not_called", "kept"),
    **_keys("files_present", "absent", "dirs_present", "dirs", "last_line", "order", "deleted", "created"),
    **_keys("assigned_role_names_in_order", "no_custom_role", "custom_role", "sleeps_seconds", "deletes"),
    **_keys("same_role_assignment_name_on_each_try"),
    "arm_calls": [_CALL],
    "arm_calls_prefix": [_CALL],
    "arm_calls_tail": [_CALL],
    "arm_calls_before_error": [_CALL],
    "blob_calls": [_BLOB],
    "files": Each(_FILE),
    "role_assignments": [_keys("scope", "roleDefinitionId")],
    "federated_credentials": [_keys("name", "subject", "audiences", "issuer")],
    "with_preserve_existing_roles": _keys("deleted"),
    **_TOLD,
}
_BETTER: Mapping[str, Format] = {
    **_EXPECTED,
    **_keys("blob_content_type", "verify", "offer", "cleanup_hint", "plan", "prints_plan", "compare"),
    **_keys("derive", "default", "retry", "role_assignment_name", "storage_account"),
    "role_assignment_body_adds": Each(ANY),
}
_INPUTS: Mapping[str, Format] = {
    **_keys(
        "credentials_requests", "files", "existing_files", "existing_dirs", "wanted_roles", "permissions"
    ),
    **_keys("service_account_count", "existing_assignments"),
    "role_lookup": _keys("count"),
    "create_reply": _keys("status", "error_code"),
    "fault": _FAULT,
    "faults": [_FAULT],
}
_RUN: tuple[Format, Format, Format] = (_INPUTS, _EXPECTED, _BETTER)
_REFUSED = _keys("error", "error_contains", "exit", "files", "arm_calls")
_KINDS: Mapping[str, tuple[Format, Format, Format]] = {
    "library: build_jwks": (
        _keys("public_key_pem"),
        {
            **_keys("kid", "jwks", "json_member_order", "indent", "trailing_newline", "spki_der_sha256_hex"),
            **_REFUSED,
            **_TOLD,
        },
        {**_keys("accept", "jwks", "kid"), **_REFUSED, **_TOLD},
    ),
    "library: validate_storage_account_name": (_keys("name"), _keys("valid", "rule"), _TOLD),
    "library: identity_name": (
        _keys("name", "namespace", "secret"),
        _keys("identity_name", "untruncated_length"),
        _TOLD,
    ),
    "library: parse_user_tags": (_keys("cases"), _keys("results"), _TOLD),
    "library: scoping_groups": (_keys("names"), {"scopes": Each(ANY)}, _TOLD),
    "library: fic_name": (_keys("names"), _TOLD, {**_keys("legal", "map"), **_TOLD}),
    "library: load_credentials_requests": (
        _keys("files", "dir"),
        {
            **_keys("count", "read_in_order", "without_enable_tech_preview", "with_enable_tech_preview"),
            **_TOLD,
        },
        {**_keys("count"), **_TOLD},
    ),
    "library: retry": (_keys("always"), {"attempts": Each(ANY), **_keys("delay_seconds", "then")}, _TOLD),
    "operator: should_deploy": (
        {"cases": [_keys("secret", "secret_error", "controlPlaneTopology", "image_env")]},
        _keys("deploy"),
        {"re_evaluate": PROSE},  # tests/apiserver/test_operator_install.py: the Secret comes later
    ),
    "operator: desired_state": (_keys("topologies"), _keys("replicas", "pdb"), _TOLD),
    "operator: conditions": (
        {"cases": [_keys("deployment", "availableReplicas", "progressing", "reconcile_error_for_seconds")]},
        _keys("conditions"),
        _TOLD,
    ),
    "operator: broker_secret": (
        {"cases": [_keys("mode", "issuer", "spec")]},
        _keys("result"),
        _TOLD,
    ),
    "aws create-iam-roles": (
        _keys("issuer_host", "namespace", "secret", "service_accounts"),
        _keys("role_name", "max_role_name", "trust", "empty_service_accounts", "dry_run_condition_key"),
        _TOLD,
    ),
    "aws create-identity-provider": (
        _keys("regions"),
        _keys("issuer", "partition", "location_constraint", "jwks_key", "jwks_uri_suffix"),
        _TOLD,
    ),
    "gcp create-service-accounts": (
        _keys("credentials_request"),
        _keys("account_id_regex", "display_name", "custom_role_id", "custom_role_title", "name_max"),
        _TOLD,
    ),
    "gcp create-workload-identity-provider": (
        _keys("universe_domains"),
        _keys("issuer", "pool-jwk-file"),
        _TOLD,
    ),
}
_CLOUD: tuple[Format, Format, Format] = (
    _keys("files"),
    dict.fromkeys(("exit", "error_contains", "arm_calls", "files", "unsupported_upstream"), PROSE),
    _keys("issuer_url", "arm_endpoint", "arm_scope", "authority"),
)
"""Another cloud, which upstream does not know: all that it says is about upstream."""
_CREDENTIALS: tuple[Format, Format, Format] = (
    {**_INPUTS, "existing_fic": [_keys("issuer", "subject", "audiences")]},
    _keys("put"),
    _keys("also"),
)


def format_of(vector: Json) -> Format:
    """The keys of a case."""
    inputs = vector.get("inputs") or {}
    given, expected, better = _KINDS.get(str(vector.get("command")), _RUN)
    if "existing_fic" in inputs:
        given, expected, better = _CREDENTIALS
    elif "--cloud" in (vector.get("flags") or {}):
        given, expected, better = _CLOUD
    return {
        **_keys("id", "name", "command", "constants"),
        "flags": Each(ANY),
        **dict.fromkeys(("title", "source", "verified"), PROSE),
        "inputs": given,
        "expected": expected,
        "better": better,
    }
