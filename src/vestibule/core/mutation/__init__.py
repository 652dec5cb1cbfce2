"""The decision: ``decide(request, facts, policy) -> Verdict``, and what must be read before it can be
made."""
