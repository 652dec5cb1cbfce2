"""Drives the questions of ``core/mutation/needs``: from the cache without a pause, and on a miss by one
live read each.

A read that fails is an error, never "no annotations". A miss is answered by whoever holds the truth, so an
object created a millisecond before its pod is not overlooked.
"""

from __future__ import annotations

from vestibule.adapters.cluster.ports import UNKNOWN, Cache, Reader
from vestibule.core.mutation.facts import Facts
from vestibule.core.mutation.needs import Questions
from vestibule.core.mutation.owners import Need


class Miss:
    """The cache could not answer this need; the questions wait to be answered from elsewhere."""

    __slots__ = ("need", "questions")

    def __init__(self, need: Need, questions: Questions) -> None:
        self.need = need
        self.questions = questions


def cached(questions: Questions, cache: Cache) -> Facts | Miss:
    """The facts at once, or where the cache had to pass."""
    peek = cache.peek
    try:
        need = next(questions)
        while True:
            answer = peek(need.kind, need.namespace, need.name)
            if answer is UNKNOWN:
                return Miss(need, questions)
            need = questions.send(answer)
    except StopIteration as done:
        facts: Facts = done.value
        return facts


async def resume(miss: Miss, cache: Cache, reader: Reader) -> Facts:
    """Go on after a miss; raises LookupFailed or Forbidden when a read fails."""
    need, questions = miss.need, miss.questions
    try:
        while True:
            answer = cache.peek(need.kind, need.namespace, need.name)
            if answer is UNKNOWN:
                answer = await reader.get(need.kind, need.namespace, need.name)
            need = questions.send(answer)
    except StopIteration as done:
        facts: Facts = done.value
        return facts


async def facts(questions: Questions, cache: Cache, reader: Reader) -> Facts:
    """Both in one, for callers without a hot path."""
    found = cached(questions, cache)
    return await resume(found, cache, reader) if isinstance(found, Miss) else found
