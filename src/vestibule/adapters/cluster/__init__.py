"""Where objects come from: ports and their implementations."""
