"""``/healthz`` (the process lives) and ``/readyz`` (it can do its work), with a line for every check.

Alive is unconditional: restarting a process does not bring a lost API server back. Ready reports the current
state:
draining, an unsynced cache, a bad certificate or a mutation that fails each make it false, and the answer
says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vestibule.httpserver.messages import HttpRequest, HttpResponse

Check = Callable[[], str]
"""Empty when all is well, else what is not, in words."""


class Health:
    """Answers the two questions."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = dict(checks)
        self.draining = False

    def problems(self) -> dict[str, str]:
        """Every check that fails, with its words."""
        found = {name: text for name, check in self._checks.items() if (text := check())}
        if self.draining:
            found["shutdown"] = "draining"
        return found

    def answer(self, request: HttpRequest) -> HttpResponse | None:
        """The answer to a health question; None when it is none."""
        if request.path in ("/healthz", "/livez"):
            return HttpResponse(200, b"ok", "text/plain")
        if request.path != "/readyz":
            return None
        problems = self.problems()
        lines = [
            f"[-]{name}: {text}" if (text := problems.get(name)) else f"[+]{name} ok" for name in self._checks
        ]
        if self.draining:
            lines.append("[-]shutdown: draining")
        return HttpResponse(503 if problems else 200, ("\n".join(lines) + "\n").encode(), "text/plain")
