"""Resource groups, and what is in one."""

from __future__ import annotations

import re
from typing import Final

from vestibule.adapters.web.site import Reply
from vestibule.apps.simulate.azure import answers, bodies, state
from vestibule.apps.simulate.azure.answers import Json, Refusal
from vestibule.apps.simulate.azure.asked import Asked, page
from vestibule.apps.simulate.azure.operations import Operations
from vestibule.apps.simulate.azure.state import World

_NAME: Final = re.compile(r"[-\w._()]{0,89}[-\w_()]")
_SHOWN: Final = (state.ACCOUNT, state.IDENTITY)
"""Types that a group lists; what hangs below others is not listed."""
_FIELDS: Final = ("id", "name", "type", "location", "tags")


class Groups:
    """The handlers."""

    def __init__(self, world: World, operations: Operations) -> None:
        self._world, self._operations = world, operations

    def get(self, asked: Asked) -> Reply:
        """Read one."""
        return answers.document(200, self._world.group(asked.parts["group"]))

    def head(self, asked: Asked) -> Reply:
        """Whether there is one."""
        there = self._world.get(self._id(asked)) is not None
        return answers.nothing(204 if there else 404)

    def listed(self, asked: Asked) -> Reply:
        """All of the subscription."""
        return page(asked, [*self._world.kind(state.GROUP)], self._world.settings.page_size)

    def put(self, asked: Asked) -> Reply:
        """Create one or replace its tags."""
        name, body = asked.parts["group"], asked.body
        bodies.named(_NAME, name, "InvalidResourceGroupName", "1 to 90 letters, digits, -_.()")
        bodies.fields(body, ("location", "tags", "managedBy", "id", "name", "type", "properties"))
        place, tags = bodies.location(body), bodies.tags(body)
        there = self._world.get(self._id(asked))
        if there is not None and there["location"] != place:
            text = f"The resource group already exists in location '{there['location']}', not '{place}'."
            raise Refusal(409, "InvalidResourceGroupLocation", text)
        made: Json = {
            "id": there["id"] if there else f"{self._world.root}/resourceGroups/{name}",
            "name": there["name"] if there else name,
            "type": state.GROUP,
            "location": place,
            "tags": tags,
            "properties": {"provisioningState": "Succeeded"},
        }
        return answers.document(201 if self._world.put(made["id"], made) else 200, made)

    def delete(self, asked: Asked) -> Reply:
        """Remove one with everything in it, which takes a while."""
        there = self._world.group(asked.parts["group"])
        there["properties"]["provisioningState"] = "Deleting"

        def finish() -> None:
            self._world.drop(there["id"])

        address = f"{asked.base}{self._world.root}/operationresults"
        return self._operations.begin(address, finish) or answers.nothing(200)

    def resources(self, asked: Asked) -> Reply:
        """What is in one."""
        there = self._world.group(asked.parts["group"])
        found = [
            {key: value for key, value in one.items() if key in _FIELDS}
            for kind in _SHOWN
            for one in self._world.kind(kind, there["id"])
        ]
        return page(asked, found, self._world.settings.page_size)

    def _id(self, asked: Asked) -> str:
        return f"{self._world.root}/resourceGroups/{asked.parts['group']}"
