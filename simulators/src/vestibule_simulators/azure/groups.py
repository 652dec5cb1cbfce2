"""Resource groups, and what is in one."""

from __future__ import annotations

import re
from typing import Final

from vestibule_simulators.azure import responses, state, validation
from vestibule_simulators.azure.operations import Operations
from vestibule_simulators.azure.request import ArmRequest, page
from vestibule_simulators.azure.responses import ArmError, Json
from vestibule_simulators.azure.state import SubscriptionState
from vestibule_simulators.https_server import SiteResponse

_NAME: Final = re.compile(r"[-\w._()]{0,89}[-\w_()]")
_SHOWN: Final = (state.ACCOUNT, state.IDENTITY)
"""Types that a group lists; what hangs below others is not listed."""
_FIELDS: Final = ("id", "name", "type", "location", "tags")


class ResourceGroups:
    """The handlers."""

    def __init__(self, world: SubscriptionState, operations: Operations) -> None:
        self._world, self._operations = world, operations

    def get(self, request: ArmRequest) -> SiteResponse:
        """Read one."""
        return responses.document(200, self._world.group(request.parts["group"]))

    def head(self, request: ArmRequest) -> SiteResponse:
        """Whether there is one."""
        existing = self._world.get(self._id(request)) is not None
        return responses.nothing(204 if existing else 404)

    def listed(self, request: ArmRequest) -> SiteResponse:
        """All of the subscription."""
        return page(request, [*self._world.kind(state.GROUP)], self._world.settings.page_size)

    def put(self, request: ArmRequest) -> SiteResponse:
        """Create one or replace its tags."""
        name, body = request.parts["group"], request.body
        validation.named(_NAME, name, "InvalidResourceGroupName", "1 to 90 letters, digits, -_.()")
        validation.fields(body, ("location", "tags", "managedBy", "id", "name", "type", "properties"))
        place, tags = validation.location(body), validation.tags(body)
        existing = self._world.get(self._id(request))
        if existing is not None and existing["location"] != place:
            text = f"The resource group already exists in location '{existing['location']}', not '{place}'."
            raise ArmError(409, "InvalidResourceGroupLocation", text)
        created: Json = {
            "id": existing["id"] if existing else f"{self._world.root}/resourceGroups/{name}",
            "name": existing["name"] if existing else name,
            "type": state.GROUP,
            "location": place,
            "tags": tags,
            "properties": {"provisioningState": "Succeeded"},
        }
        return responses.document(201 if self._world.put(created["id"], created) else 200, created)

    def delete(self, request: ArmRequest) -> SiteResponse:
        """Remove one with everything in it, which takes a while."""
        existing = self._world.group(request.parts["group"])
        existing["properties"]["provisioningState"] = "Deleting"

        def finish() -> None:
            self._world.drop(existing["id"])

        address = f"{request.base}{self._world.root}/operationresults"
        return self._operations.begin(address, finish) or responses.nothing(200)

    def resources(self, request: ArmRequest) -> SiteResponse:
        """What is in one."""
        existing = self._world.group(request.parts["group"])
        found = [
            {key: value for key, value in one.items() if key in _FIELDS}
            for kind in _SHOWN
            for one in self._world.kind(kind, existing["id"])
        ]
        return page(request, found, self._world.settings.page_size)

    def _id(self, request: ArmRequest) -> str:
        return f"{self._world.root}/resourceGroups/{request.parts['group']}"
