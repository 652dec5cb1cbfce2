"""The rights table of SECURITY.md, from the roles that ``vestibule render`` prints.

Every role is rendered with the default settings, and once more for each setting that asks for more; what a
setting adds stands in a row of its own. ``scripts/reference.py`` writes the table and checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from vestibule.core.kinds import config
from vestibule.core.native import install, operator

Object = dict[str, Any]
BEGIN: Final = "<!-- The rights: made by scripts/reference.py from the roles that render prints. -->\n"
END: Final = "<!-- The end of the rights. -->\n"
_MORE: Final[dict[str, Object]] = {
    "`sandbox.enabled`": {"sandbox": {"enabled": True}},
    "`identityPolicies`": {"identityPolicies": True},
    "`gcp.allowConfigMapWrites`": {"gcp": {"allowConfigMapWrites": True}},
    "`eks.mappingConfigMap`": {
        "vocabularies": ["cwii", "eks"],
        "eks": {"mappingConfigMap": "kube-system/pod-identity-webhook"},
    },
    "`install.evictions`": {"install": {"evictions": True}},
    "`install.hosted`": {"install": {"hosted": True, "hostedNamespaces": ["clusters"]}},
    "`install.aro`": {"install": {"aro": True}},
}
"""What a setting asks for, by how people call it."""


_ORDER: Final = {"vestibule": 0, "vestibule-certificates": 1, "vestibule-operator": 2}


class Row(NamedTuple):
    """One rule of one account."""

    account: str
    where: str
    what: str
    verbs: str


def rows(data: Object) -> Iterator[Row]:
    """Every rule that is bound to an account of ours."""
    settings = config.parse(data, "rights")
    objects = [*install.objects(settings), *operator.objects(settings)]
    roles = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in objects}
    for one in objects:
        if one["kind"] not in ("ClusterRoleBinding", "RoleBinding"):
            continue
        reference, namespace = one["roleRef"], one["metadata"].get("namespace")
        held = namespace if reference["kind"] == "Role" else None
        role = roles[reference["kind"], held, reference["name"]]
        for rule in role["rules"]:
            for subject in one["subjects"]:
                yield Row(subject["name"], _where(namespace), _what(rule), ", ".join(sorted(rule["verbs"])))


def _where(namespace: str | None) -> str:
    if namespace is None:
        return "cluster"
    return "its namespace" if namespace == config.Install().namespace else "named namespaces"


def _what(rule: Object) -> str:
    if "nonResourceURLs" in rule:
        return ", ".join(f"`{one}`" for one in sorted(rule["nonResourceURLs"]))
    groups = [one for one in rule["apiGroups"] if one]
    found = ", ".join(sorted(rule["resources"]))
    names = ", ".join(f"`{one}`" for one in rule.get("resourceNames", ()))
    return f"{found}{' (' + ', '.join(groups) + ')' if groups else ''}{f' named {names}' if names else ''}"


def table() -> str:
    """The table in Markdown."""
    plain = set(rows({}))
    found = [(row, "") for row in rows({})]
    found += [(row, one) for one, data in _MORE.items() for row in rows(data) if row not in plain]
    # what is the same but for the objects stands in one row
    together: dict[tuple[str, str, str, str], list[str]] = {}
    for row, setting in sorted(found, key=lambda one: _ORDER[one[0].account]):
        listed = together.setdefault((row.account, row.where, row.verbs, setting), [])
        listed += [row.what] if row.what not in listed else []
    lines = ["| account | where | verbs | what | with |", "|---|---|---|---|---|"]
    for (account, where, verbs, setting), what in together.items():
        line = f"| `{account}` | {where} | {verbs} | {'; '.join(what)} | {setting} |"
        lines.append(line.replace("  ", " "))
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with the table as it should be."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"
