"""Calls to addresses that users give us: bounded in size and time, no redirects, addresses checked."""
