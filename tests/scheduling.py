"""Which worker runs which file.

Most files keep a core busy; a few mostly wait, for clocks that the API server or a lease sets. With three
workers the last one begins with those, so that they cost no time of the two cores, and then takes what is
left. Files stay whole, as do folders whose files share what is dear to start; the longest begin first, so
that no worker sits with one of them at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

WAITING: Final = (
    "apiserver/test_idle.py",
    "apiserver/test_faults.py",
    "apiserver/test_operator_leaders.py",
    "apiserver/test_rollouts.py",
    "apiserver/test_issuer.py",
    "apiserver/test_hosted.py",
)
"""Files that wait for much of their time."""
TOGETHER: Final = ("aro",)
"""Folders whose files run in one worker: two control planes and the manager of Cluster API are theirs."""
LONGEST: Final = (
    "aro/test_trouble.py",
    "aro/test_lifecycle.py",
    "aro/test_crashes.py",
    "aro/test_admission.py",
    "aro/test_rights.py",
    "apiserver/test_hosted_crashes.py",
    "apiserver/test_hosted_whole.py",
    "apiserver/test_operator_crashes.py",
    "chart/test_release.py",
    "chain/test_logins_foreign.py",
    "apiserver/test_audit.py",
    "fuzz/test_smoke.py",
    "image/test_image.py",
    "apiserver/test_sandbox_change.py",
    "apiserver/test_operator_install.py",
    "apiserver/test_rig.py",
    "gcp/test_faults.py",
    "azure/test_faults.py",
    "apiserver/test_operator_rotation.py",
    "apiserver/test_hosted_operator.py",
    "apiserver/test_hosted_guest.py",
    "oidc/test_cluster.py",
    "chain/test_logins_own.py",
    "azure/test_lost_answers.py",
    "apiserver/test_rights.py",
    "process/test_standin.py",
    "process/test_floods.py",
    "oidc/test_cli.py",
    "apiserver/test_operator_faults.py",
    "apiserver/test_sandbox_neighbours.py",
    "apiserver/test_hosted_trial.py",
)
"""Files that take longest, the longest first."""
_ON_PLANES: Final = ("apiserver", "aro", "chart")
_RANK: Final = {name: number for number, name in enumerate(WAITING + LONGEST)}


def longest_first(items: list[pytest.Item]) -> None:
    """The longest files first, then the other ones on control planes; the rest as it comes."""

    def place(item: pytest.Item) -> int:
        name = "/".join(item.path.parts[-2:])
        return _RANK.get(name, len(_RANK) + (item.path.parent.name not in _ON_PLANES))

    items.sort(key=place)


def waits(scope: str) -> bool:
    """Whether this file is one that mostly waits."""
    return scope.endswith(WAITING)


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist says nothing of its types
    """Whole files, some folders; the third worker begins with those that wait."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        folder = file.rpartition("/")[0]
        return folder if folder.endswith(TOGETHER) else file

    def _assign_work_unit(self, node: WorkerController) -> None:
        self.workqueue.move_to_end(self._next(node), last=False)
        super()._assign_work_unit(node)

    def _next(self, node: WorkerController) -> str:
        """The first file of the sort that is this worker's; the first of all when there is none."""
        own = self._patient(node)
        fitting: Iterable[str] = (one for one in self.workqueue if waits(one) is own)
        return next(iter(fitting), next(iter(self.workqueue)))

    def _patient(self, node: WorkerController) -> bool:
        """Whether this worker is the one that waits."""
        return bool(self.numnodes > 2 and node.gateway.id == f"gw{self.numnodes - 1}")


def scheduling(config: pytest.Config, log: Any) -> Scheduling:
    """What xdist asks for."""
    return Scheduling(config, log)
