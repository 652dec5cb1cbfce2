"""The thought: no I/O, no clock, no log, no await. Facts and policy come in as arguments, decisions go
out as values."""
