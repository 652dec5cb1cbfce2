"""What every controller stands on: queue, watches, apply, events, leadership. Knows no kind.

Level-based: a key is looked at as it is now, whatever the event that brought it. The steady state writes
nothing, and a crash after any write is made up for by the next look.
"""
