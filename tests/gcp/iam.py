"""IAM v1 and the project: pools, providers, operations, accounts, roles, policies."""

from __future__ import annotations

import re
from typing import Any

from tests.gcp.answers import Json, Policy, Refused, exists, missing

STALE = Refused(409, "ABORTED", "There were concurrent policy changes. Please retry.")


class Iam:
    """One project."""

    def __init__(self, project: str, number: str) -> None:
        self.project, self.number = project, number
        self.pools: dict[str, Json] = {}
        self.providers: dict[str, dict[str, Json]] = {}
        self.accounts: dict[str, Json] = {}
        self.policies: dict[str, Policy] = {}
        self.roles: dict[str, Json] = {}
        self.policy = Policy([{"role": "roles/owner", "members": ["user:owner@example.com"]}])
        self.late = 0
        """How often a new account is not known to the project yet."""
        self._operations: dict[str, int] = {}
        self._unknown: dict[str, int] = {}
        self._calls = 0

    def answer(self, method: str, path: str, query: dict[str, str], body: Json) -> Json | None:
        """None: not ours to answer."""
        self._calls += 1
        place = f"/v1/projects/{self.project}"
        if match := re.fullmatch(r"/v1/(projects/\d+/.*/operations/\w+)", path):
            return self._operation(match[1])
        if path == place and method == "GET":
            return {"projectId": self.project, "projectNumber": self.number, "lifecycleState": "ACTIVE"}
        if path.startswith(f"{place}:") and method == "POST":
            return self._project_policy(path.partition(":")[2], body)
        for pattern, handle in (
            (r"/locations/global/workloadIdentityPools(?:/([^/:]+))?(?::(\w+))?", self._pool),
            (
                r"/locations/global/workloadIdentityPools/([^/:]+)/providers(?:/([^/:]+))?(?::(\w+))?",
                self._provider,
            ),
            (r"/serviceAccounts(?:/([^/:]+))?(?::(\w+))?", self._account),
            (r"/roles(?:/([^/:]+))?(?::(\w+))?", self._role),
        ):
            found = re.fullmatch(re.escape(place) + pattern, path)
            if found:
                given: Any = (method, *found.groups(), query, body)
                answered: Json = handle(*given)
                return answered
        return None

    def _begun(self, path: str) -> Json:
        name = f"projects/{self.number}/locations/global/{path}/operations/op{len(self._operations)}"
        self._operations[name] = self._calls + 2
        return {"name": name}  # one that is not done does not say so

    def _operation(self, name: str) -> Json:
        if name not in self._operations:
            raise missing(name)
        return {"name": name, **({"done": True, "response": {}} if self._ended(name) else {})}

    def _pending(self, path: str) -> bool:
        """Whether something is being made or changed; what is being made is not seen yet."""
        begin = f"projects/{self.number}/locations/global/{path}/operations/"
        return any(one.startswith(begin) and not self._ended(one) for one in self._operations)

    def _ended(self, name: str) -> bool:
        return self._calls >= self._operations[name]

    def _pool(self, method: str, name: str | None, verb: str | None, query: Json, body: Json) -> Json:
        if method == "POST" and name is None:
            name = str(query["workloadIdentityPoolId"])
            if not re.fullmatch(r"(?!gcp-)[a-z0-9-]{4,32}", name):
                raise Refused(400, "INVALID_ARGUMENT", f"pool id {name}")
            if name in self.pools:
                raise exists(name)
            self.pools[name] = {**body, "state": "ACTIVE"}
            self.providers[name] = {}
            return self._begun(f"workloadIdentityPools/{name}")
        if name not in self.pools:
            raise missing(str(name))
        return self._changed(self.pools[name], method, verb, body, query, f"workloadIdentityPools/{name}")

    def _provider(
        self, method: str, pool: str, name: str | None, verb: str | None, query: Json, body: Json
    ) -> Json:
        if pool not in self.pools:
            raise missing(pool)
        if self._pending(f"workloadIdentityPools/{pool}"):
            raise missing(pool)
        existing = self.providers[pool]
        path = f"projects/{self.number}/locations/global/workloadIdentityPools/{pool}/providers"
        if name is None and method == "GET":
            shown = [{**one, "name": f"{path}/{key}"} for key, one in existing.items()]
            return {"workloadIdentityPoolProviders": shown} if shown else {}
        if name is None:
            name = str(query["workloadIdentityPoolProviderId"])
            if name in existing:
                raise exists(name)
            existing[name] = {**body, "state": "ACTIVE"}
            return self._begun(f"workloadIdentityPools/{pool}/providers/{name}")
        if name not in existing:
            raise missing(name)
        inside = f"workloadIdentityPools/{pool}/providers/{name}"
        return self._changed(existing[name], method, verb, body, query, inside)

    def _changed(
        self, found: Json, method: str, verb: str | None, body: Json, query: Json, path: str
    ) -> Json:
        deleted = found["state"] == "DELETED"
        if self._pending(path):
            raise missing(path)
        if method == "GET":
            return {**found, "name": f"projects/{self.number}/locations/global/{path}"}
        if (verb == "undelete") != deleted:
            raise Refused(400, "FAILED_PRECONDITION", f"{path} is {found['state']}")
        if method == "DELETE":
            found["state"] = "DELETED"
        elif verb == "undelete":
            found["state"] = "ACTIVE"
        else:
            for mask in query["updateMask"].split(","):
                outer, _, inner = _camel(mask).partition(".")
                if inner:
                    found[outer] = {**found.get(outer, {}), inner: body[outer][inner]}
                else:
                    found[outer] = body[outer]
        return self._begun(path)

    def _account(self, method: str, email: str | None, verb: str | None, query: Json, body: Json) -> Json:
        if email is None and method == "GET":
            listed = sorted(self.accounts)
            begin = int(query.get("pageToken", "0"))
            more = {"nextPageToken": str(begin + 2)} if begin + 2 < len(listed) else {}
            return {"accounts": [self.accounts[one] for one in listed[begin : begin + 2]], **more}
        if email is None:
            name = str(body["accountId"])
            if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", name):
                raise Refused(400, "INVALID_ARGUMENT", f"account id {name}")
            email = f"{name}@{self.project}.iam.gserviceaccount.com"
            if email in self.accounts:
                raise exists(email)
            self.accounts[email] = {"email": email, **body["serviceAccount"]}
            self.policies[email] = Policy()
            self._unknown[email] = self.late
            return self.accounts[email]
        if email not in self.accounts:
            raise missing(email)
        if method == "DELETE":
            del self.accounts[email], self.policies[email]
            for one in self.policy.bindings:
                gone = f"deleted:serviceAccount:{email}?uid=1"
                one["members"] = [gone if m == f"serviceAccount:{email}" else m for m in one["members"]]
            return {}
        policy = self.policies[email]
        if verb == "getIamPolicy":
            return policy.read(query.get("options.requestedPolicyVersion", "1"))
        return policy.write(body["policy"], STALE)

    def _role(self, method: str, name: str | None, verb: str | None, query: Json, body: Json) -> Json:
        if name is None:
            name = str(body["roleId"])
            if name in self.roles:
                raise exists(name)
            self.roles[name] = {**body["role"], "etag": "r1"}
            return self.roles[name]
        if name not in self.roles:
            raise missing(name)
        role = self.roles[name]
        if method == "GET":
            return dict(role)
        if bool(role.get("deleted")) != (verb == "undelete"):
            raise Refused(400, "FAILED_PRECONDITION", f"role {name} is deleted, or is not")
        if method == "PATCH" and body["etag"] != role["etag"]:
            raise STALE
        if method == "DELETE":
            role["deleted"] = True
        elif method == "PATCH":
            role["includedPermissions"] = body["includedPermissions"]
        else:
            role.pop("deleted")
        role["etag"] = f"r{int(role['etag'][1:]) + 1}"
        return dict(role)

    def _project_policy(self, verb: str, body: Json) -> Json:
        if verb == "getIamPolicy":
            return self.policy.read(str(body.get("options", {}).get("requestedPolicyVersion", 1)))
        members = {m for one in body["policy"]["bindings"] for m in one["members"]}
        for member in members:
            kind, _, email = member.partition(":")
            if kind == "serviceAccount" and (email not in self.accounts or self._unknown.get(email, 0) > 0):
                self._unknown[email] = self._unknown.get(email, 0) - 1
                raise Refused(400, "INVALID_ARGUMENT", f"Service account {email} does not exist.")
        return self.policy.write(body["policy"], STALE)


def _camel(text: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), text)
