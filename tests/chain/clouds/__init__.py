"""Doubles of the clouds: they verify the pod's token as the clouds do and refuse in the clouds' words.

Each is told whom to trust (issuer, audience, subject) and remembers what it issued, so that a test can ask
whose credentials an SDK came home with.
"""
