"""``templates/_native.tpl``: the objects of ``manifests`` with holes where the values of a release go.

What ``vestibule render`` prints and what the chart installs come from the same functions: they are called
here with template expressions as names, and with numbers that stand for holes. Conditions are found by
calling them once for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from scripts.charts import tree
from scripts.charts.tree import Case

from vestibule.api.settings import schema
from vestibule.api.settings.eks import EksSettings
from vestibule.api.settings.schema import Settings
from vestibule.api.settings.wif import WifSettings
from vestibule.manifests import certificates_workload, install, operator

Object = dict[str, Any]
MADE: Final = "{{- /* Made by scripts/chart.py from src/vestibule/manifests; change the code there. */ -}}\n"
_HOLES: Final = {
    65_431: "{{ int .port }}",
    65_432: "{{ int .metricsPort }}",
    900_003: "{{ int .leaveSeconds }}",
    900_004: "{{ int .replicas }}",
    900_005: "{{ int .timeoutSeconds }}",
}
"""Numbers that no setting has, each for a hole."""
_EACH: Final = "{{ .hostedNamespace }}"
"""The hole for one namespace of several; a list has an item for each of them."""
_ITEM: Final = re.compile(rf"^( *)(- .*){re.escape(_EACH)}$", re.MULTILINE)
_WEBHOOK: Final = {
    "serviceaccount": ("ServiceAccount", ""),
    "clusterrole": ("ClusterRole", ""),
    "clusterrolebinding": ("ClusterRoleBinding", ""),
    "role": ("Role", ""),
    "certificates.serviceaccount": ("ServiceAccount", "-certificates"),
    "certificates.clusterrole": ("ClusterRole", "-certificates"),
    "certificates.clusterrolebinding": ("ClusterRoleBinding", "-certificates"),
    "certificates.role": ("Role", "-certificates"),
    "certificates.rolebinding": ("RoleBinding", "-certificates"),
    "certificates.policy": ("ValidatingAdmissionPolicy", "-certificates"),
    "certificates.policybinding": ("ValidatingAdmissionPolicyBinding", "-certificates"),
    "certificates.networkpolicy": ("NetworkPolicy", "-certificates"),
    "certificates.deployment": ("Deployment", "-certificates"),
    "authority": ("Secret", "-authority"),
    "secret": ("Secret", "-tls"),
    "lease": ("Lease", ""),
    "selfsigned": ("Issuer", "-selfsigned"),
    "cacertificate": ("Certificate", "-ca"),
    "issuer": ("Issuer", "-ca"),
    "certificate": ("Certificate", "-tls"),
    "deployment": ("Deployment", ""),
    "service": ("Service", ""),
    "budget": ("PodDisruptionBudget", ""),
    "networkpolicy": ("NetworkPolicy", ""),
    "mutating": ("MutatingWebhookConfiguration", ""),
    "validating": ("ValidatingWebhookConfiguration", ""),
    "guard": ("ValidatingAdmissionPolicy", "-guard"),
    "guardbinding": ("ValidatingAdmissionPolicyBinding", "-guard"),
    "final": ("ValidatingAdmissionPolicy", "-final"),
    "finalbinding": ("ValidatingAdmissionPolicyBinding", "-final"),
}
"""What a template calls an object: its kind, and what its name has behind that of the release."""
_OTHERWISE: Final = {"Namespace", "CustomResourceDefinition", "ConfigMap"}
"""Helm makes the namespace; definitions and the settings have templates of their own."""


_NOT_VALIDATED: Final = "(not (or .sandbox .identityPolicies))"
"""Nothing that the validating webhook is asked about."""


def _settings(certificate: Any = "self", **more: Any) -> Settings:
    base = Settings(
        install=schema.InstallSettings(
            name="{{ .name }}",
            namespace="{{ .namespace }}",
            image="{{ .image }}",
            replicas=900_004,
            certificate=certificate,
            ca_bundle="{{ .caBundle }}" if certificate == "secret" else "",
            final_check="warn",
        ),
        webhook=schema.WebhookSettings(
            failure_policy="{{ .failurePolicy }}",  # type: ignore[arg-type]
            reinvocation_policy="{{ .reinvocationPolicy }}",  # type: ignore[arg-type]
            timeout_seconds=900_005,
        ),
        serving=schema.ServingSettings(
            addr="0.0.0.0:65431",
            metrics_addr="0.0.0.0:65432",
            drain_seconds=900_003 - 5,
            grace_seconds=0,
        ),
        vocabularies=("cwii", "azwi", "eks", "wif", "gke"),
        sandbox=schema.SandboxSettings(enabled=True),
        identity_policies=True,
        gcp=schema.GcpSettings(allow_config_map_writes=True),
        eks=msgspec.structs.replace(EksSettings(), mapping_config_map="namespace/{{ .mappingConfigMap }}"),
        wif=msgspec.structs.replace(WifSettings(), annotation_prefix="{{ .wifPrefix }}"),
    )
    return msgspec.structs.replace(base, **more)


def _cases() -> list[tuple[str, Settings]]:
    """A condition of the templates, and the settings for which it holds."""
    full = _settings()
    serving = msgspec.structs.replace(full.serving, metrics_addr="")
    return [
        (".certManager", _settings("cert-manager")),
        (".serviceCa", _settings("service-ca")),
        (".ownSecret", _settings("secret")),
        ("(not .metrics)", _settings(serving=serving)),
        ("(not .sandbox)", _settings(sandbox=schema.SandboxSettings())),
        ("(not .identityPolicies)", _settings(identity_policies=False)),
        (_NOT_VALIDATED, _settings(identity_policies=False, sandbox=schema.SandboxSettings())),
        ("(not .writes)", _settings(gcp=schema.GcpSettings())),
        ("(not .mappingConfigMap)", _settings(eks=EksSettings())),
        ("(not .wif)", _settings(vocabularies=("cwii", "azwi", "eks"))),
    ]


def _operator_cases() -> list[tuple[str, Settings]]:
    """The same for what the operator alone is asked for, and what its role holds of the webhook's.

    An item that a case adds goes before those that were added at the same place, so what comes later in the
    lists comes first here."""
    full = _settings().install

    def asked(**more: Any) -> Settings:
        return _settings(install=msgspec.structs.replace(full, **more))

    return [
        *_cases(),
        (".aro", asked(aro=True)),
        (".hostedNamespaces", asked(hosted=True, hosted_namespaces=(_EACH,))),
        (".hostedEverywhere", asked(hosted=True, hosted_all_namespaces=True)),
        (".evictions", asked(evictions=True)),
    ]


def text() -> str:
    """The whole file."""
    return MADE + "".join(_defines())


def _defines() -> Iterator[str]:
    cases = _cases()
    base, others = _settings(), [(condition, _by_kind(install.objects(one))) for condition, one in cases]
    webhook = _by_kind(install.objects(base))
    unknown = {
        (kind, name)
        for objects in (webhook, *(found for _, found in others))
        for kind, name in objects
        if kind not in _OTHERWISE
    } - {(kind, f"{{{{ .name }}}}{suffix}") for kind, suffix in _WEBHOOK.values()}
    if unknown:
        raise SystemExit(f"the chart has no place for {sorted(unknown)}: scripts/charts/native.py")
    for called, (kind, suffix) in _WEBHOOK.items():
        key = (kind, f"{{{{ .name }}}}{suffix}")
        yield from _object(
            f"webhook.{called}", webhook.get(key), [Case(at, found.get(key)) for at, found in others]
        )
    yield from _own_certificate(base, cases)
    yield _define("certificates.fields", json.dumps(certificates_workload.FIELDS))
    needed = [Case(at, _definitions(install.objects(one))) for at, one in cases]
    yield _define("webhook.crds", _yaml(_definitions(install.objects(base)), needed))
    yield from _validations(base)
    yield from _operator(base)
    defaults = msgspec.to_builtins(Settings())
    yield _define("defaults", json.dumps(defaults, indent=2, sort_keys=True, ensure_ascii=False))


def _definitions(objects: list[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in objects if one["kind"] == "CustomResourceDefinition"]


def _operator(base: Settings) -> Iterator[str]:
    """Every object of the operator; a list of what there is, for the template that walks it."""
    cases = [(condition, operator.objects(one)) for condition, one in _operator_cases()]
    needed = [Case(at, _definitions(one)) for at, one in cases]
    yield _define("operator.crds", _yaml(_definitions(operator.objects(base)), needed))
    objects = _by_kind_and_suffix(operator.objects(base))
    others = [(condition, _by_kind_and_suffix(found)) for condition, found in cases]
    called = []
    for key in dict.fromkeys([*objects, *(key for _, found in others for key in found)]):
        called.append("".join(key).lower())
        obj = objects.get(key)
        found = [Case(at, mine.get(key)) for at, mine in others]
        yield from _object(f"operator.{called[-1]}", obj, [one for one in found if one.tree != obj])
    yield _define("operator.all", json.dumps(called))


def _by_kind(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """Objects by kind and name; what a template writes anew for each release is left out."""
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    final = made.get(("ValidatingAdmissionPolicy", "{{ .name }}-final"))
    if final is not None:
        del final["spec"]["validations"]
    certificates = made.get(("ValidatingAdmissionPolicy", "{{ .name }}-certificates"))
    if certificates is not None:
        # what may be created is what the release registers
        created = certificates["spec"]["validations"][-1]
        created["expression"] = f"{created['expression'].partition(' && (')[0]} && ("
    return made


def _by_kind_and_suffix(objects: list[Object]) -> dict[tuple[str, str], Object]:
    """Operator's objects share a name, with what they are for behind it."""
    created: dict[tuple[str, str], Object] = {}
    for one in objects:
        if one["kind"] in _OTHERWISE:
            continue
        key = (one["kind"], one["metadata"]["name"].removeprefix("{{ .name }}-operator"))
        if key in created:
            raise SystemExit(f"the chart has one place for two objects {key}: scripts/charts/native.py")
        created[key] = one
    return created


def _object(called: str, base: Object | None, cases: list[Case]) -> Iterator[str]:
    """A define; empty where there is no such object."""
    absent = [case.condition for case in cases if case.tree is None]
    present = [case for case in cases if case.tree is not None]
    if base is None:
        first, *more = present
        if any(one.tree != first.tree for one in more):
            raise SystemExit(f"the chart has no place for two kinds of {called}: scripts/charts/native.py")
        when = tree.any_of([one.condition for one in present])
        yield _define(called, f"{{{{- if {when} }}}}\n{_yaml(first.tree, [])}\n{{{{- end }}}}")
        return
    body = _yaml(base, present)
    if absent:
        body = f"{{{{- if {tree.none_of(absent)} }}}}\n{body}\n{{{{- end }}}}"
    yield _define(called, body)


def _own_certificate(base: Settings, cases: list[tuple[str, Settings]]) -> Iterator[str]:
    """What the settings file says about a certificate of our own."""

    def of(settings: Settings) -> Object:
        maps = [obj["data"] for obj in install.objects(settings) if obj["kind"] == "ConfigMap"]
        [one] = [data["settings.json"] for data in maps if "settings.json" in data]
        found: Object = json.loads(one)["selfCertificate"]
        return found

    found = [Case(at, of(one)) for at, one in cases if at in ("(not .sandbox)", _NOT_VALIDATED)]
    yield _define("selfcertificate", _yaml(of(base), found))


def _validations(base: Settings) -> Iterator[str]:
    """The final check, one vocabulary at a time: their order is the release's."""
    eks = msgspec.structs.replace(base.eks, annotation_prefix="{{ .eksPrefix }}")
    for vocabulary in base.vocabularies:
        one = msgspec.structs.replace(base, vocabularies=(vocabulary,), eks=eks)
        [policy] = [
            obj
            for obj in install.objects(one)
            if obj["kind"] == "ValidatingAdmissionPolicy" and obj["metadata"]["name"].endswith("-final")
        ]
        yield _define(f"final.{vocabulary}", _yaml(policy["spec"]["validations"], []))


def _yaml(obj: Any, cases: list[Case]) -> str:
    created = "\n".join(tree.lines(obj, cases))
    for number, hole in _HOLES.items():
        created = created.replace(str(number), hole)
    return _ITEM.sub(r"\1{{- range .hostedNamespaces }}\n\1\2{{ . }}\n\1{{- end }}", created)


def _define(called: str, body: str) -> str:
    return f'\n{{{{- define "vestibule.native.{called}" -}}}}\n{body}\n{{{{- end -}}}}\n'
