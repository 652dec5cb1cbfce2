"""Fuzzing: what must hold for any bytes, tried with inputs that grow by coverage. See ``run``."""
