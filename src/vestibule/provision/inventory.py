"""The inventory of created resources, a file in the output directory that ``delete`` reads.

Ids of cloud resources and the names of steps, nothing secret. The file is replaced as a whole after every
step, so a run that is killed leaves one that is right up to its last finished step.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

import msgspec

from vestibule import atomicfiles
from vestibule.errors import InputProblem, InvalidInput
from vestibule.provision.steps import OwnedResource

FILE: Final = Path(".vestibule") / "inventory.json"
_VERSION: Final = 1


class InventoryEntry(msgspec.Struct, frozen=True):
    """One resource."""

    kind: str
    id: str
    step: str


class _InventoryFile(msgspec.Struct):
    version: int = _VERSION
    cloud: str = ""
    name: str = ""
    resources: list[InventoryEntry] = msgspec.field(default_factory=list)


class Inventory:
    """The file of one output directory, for one name in one cloud."""

    def __init__(self, directory: Path, cloud: str, name: str) -> None:
        """Raises InvalidInput when the file is not ours, or is about something else."""
        self.path = directory / FILE
        self._lock = threading.Lock()
        self._content = _InventoryFile(cloud=cloud, name=name)
        data = atomicfiles.read(self.path, 16 * 1024 * 1024)
        if data is None:
            return
        try:
            found = msgspec.json.decode(data, type=_InventoryFile)
        except msgspec.MsgspecError as error:
            text = f"is no inventory of ours ({error}), want the file as a run left it"
            raise InvalidInput(InputProblem(str(self.path), "", text)) from error
        if (found.version, found.cloud, found.name) != (_VERSION, cloud, name):
            text = (
                f"is about {found.name!r} in {found.cloud} (version {found.version}), "
                f"want {name!r} in {cloud}: use another --output-dir"
            )
            raise InvalidInput(InputProblem(str(self.path), "", text))
        self._content = found

    @property
    def resources(self) -> tuple[InventoryEntry, ...]:
        """What is known to be ours."""
        return tuple(self._content.resources)

    def holds(self, kind: str, identifier: str) -> bool:
        """Whether this is known to be ours; ids are compared without regard to letter case."""
        entry = (kind, identifier.lower())
        return any((one.kind, one.id.lower()) == entry for one in self._content.resources)

    def add(self, resource: OwnedResource, step: str) -> None:
        """A step has made this."""
        with self._lock:
            if not self.holds(resource.kind, resource.id):
                self._content.resources.append(InventoryEntry(resource.kind, resource.id, step))
                self._write()

    def drop(self, gone: OwnedResource) -> None:
        """This is no longer there."""
        with self._lock:
            entry = (gone.kind, gone.id.lower())
            remaining = [one for one in self._content.resources if (one.kind, one.id.lower()) != entry]
            if len(remaining) != len(self._content.resources):
                self._content.resources = remaining
                self._write()

    def _write(self) -> None:
        atomicfiles.folder(self.path.parent)
        text = msgspec.json.format(msgspec.json.encode(self._content), indent=2) + b"\n"
        atomicfiles.replace(self.path, text)
