"""The table of pods that must be able to log in: one row per way of asking and of laying out.

A further dialect is a further module with ``ROWS``: what stands on which object, the settings it needs, and
the logins that must come of it. ``test_logins_own`` and ``test_logins_foreign`` play them.
"""
