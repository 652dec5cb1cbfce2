"""The one guard between the application and the wire: whatever a handler does, there is an answer.

    returned response          sent as it is
    raised Unavailable         503 with Retry-After: 1, which the API server retries
    past its deadline          the same, after the handler has been cancelled
    anything else              what ``fault`` answers in its place, where there is one; else 500 without
                               Retry-After: the cluster's failurePolicy decides

The log gets the type and the stack of an unexpected exception, never its text: that may quote the review.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from vestibule import errors
from vestibule.httpserver import responses
from vestibule.httpserver.limits import GRAIN
from vestibule.httpserver.messages import Handler, HttpRequest, HttpResponse

__all__ = ["DeadlineExceeded", "Fault", "bounded", "call", "outcome"]

logger = logging.getLogger(__name__)


class DeadlineExceeded(errors.Unavailable):
    """A handler passed its deadline."""


Fault = Callable[[HttpRequest], HttpResponse | None]
"""What is answered where a handler failed unexpectedly; None: 500. It must not raise."""


def call(
    handler: Handler, request: HttpRequest, fault: Fault | None = None
) -> HttpResponse | Coroutine[Any, Any, HttpResponse]:
    """The handler's response, or its coroutine not yet started; never raises an Exception."""
    try:
        result = handler(request)
    except Exception as error:  # noqa: BLE001 - the guard: no request may end the process
        return _answer(error, request, fault)
    if type(result) is HttpResponse or asyncio.iscoroutine(result):
        return result
    return _answer(TypeError("handler returned neither a response nor a coroutine"), request, fault)


async def bounded(work: Coroutine[Any, Any, HttpResponse], deadline: float) -> HttpResponse:
    """Await ``work`` until ``deadline`` (``loop.time()``); raises DeadlineExceeded, or whatever ``work``
    raises."""
    try:
        async with asyncio.timeout_at(deadline + GRAIN) as limit:
            return await work
    except TimeoutError:
        if limit.expired():
            raise DeadlineExceeded("deadline passed") from None
        raise


def outcome(
    task: asyncio.Task[HttpResponse], request: HttpRequest, fault: Fault | None = None
) -> HttpResponse:
    """What a finished task of ``bounded`` answers."""
    if task.cancelled():
        return responses.UNAVAILABLE
    error = task.exception()
    if error is not None:
        return _answer(error, request, fault)
    result = task.result()
    if type(result) is HttpResponse:
        return result
    return _answer(TypeError("handler's coroutine returned no response"), request, fault)


def _answer(error: BaseException, request: HttpRequest, fault: Fault | None) -> HttpResponse:
    if isinstance(error, errors.Unavailable):
        return responses.UNAVAILABLE
    logger.error(
        "handler failed",
        extra={
            "method": request.method,
            "path": request.path,
            "error": type(error).__qualname__,
            "stack": "".join(traceback.format_tb(error.__traceback__)),
        },
    )
    instead = fault(request) if fault is not None else None
    return instead or responses.INTERNAL_ERROR
