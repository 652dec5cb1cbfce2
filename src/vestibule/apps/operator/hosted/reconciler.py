"""One HostedWebhook: read both clusters, plan, apply to both, status.

Rights in the guest come first, then the webhook's credential, then the management side; then a review goes
round through the very bundle that the guest will trust, and only then the registration is made. A guest that
does not answer costs its own key a pause and nobody else anything. What is good is kept, so a look at which
nothing changed writes nothing.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from vestibule import errors
from vestibule.adapters.cluster import calls, pages
from vestibule.adapters.cluster.client import Client
from vestibule.adapters.cluster.guests import Guests
from vestibule.apps.operator.hosted import attachments, flavours, kindtable, plan, proof, removal, status
from vestibule.apps.operator.hosted.attachments import Seen
from vestibule.apps.operator.hosted.certificates import text_of
from vestibule.apps.operator.hosted.house import MANAGER, Guest, House
from vestibule.apps.operator.hosted.listening import Listening
from vestibule.apps.operator.hosted.plan import Plan, Request
from vestibule.apps.operator.hosted.target import Target
from vestibule.apps.operator.hosted.trust import NOTHING, Standing
from vestibule.apps.operator.hosted.webhooks import OURS
from vestibule.apps.operator.runtime import difference, finalizers, statuses
from vestibule.apps.operator.runtime.apply import Applier, Place, Wanted
from vestibule.apps.operator.runtime.events import Events
from vestibule.apps.operator.runtime.pen import Deposed, Fence, Pen
from vestibule.apps.operator.runtime.result import Again, Done, Result, Stalled
from vestibule.core.kinds import conditions, gvk, hosted
from vestibule.core.kinds.conditions import Condition
from vestibule.core.kinds.hosted import FINALIZER, HOSTED_WEBHOOK, Hosted
from vestibule.core.native import kinds
from vestibule.core.pki import authority, keeping

Object = dict[str, Any]
Known = dict[Place, Object]
_SOON: Final = 2.0
_LATER: Final = 15.0
_LATEST: Final = 30.0
"""Longest pause while replicas are waited for; when they become ready a watch tells."""
