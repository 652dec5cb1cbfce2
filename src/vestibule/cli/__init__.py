"""Commands: parse flags, print, exit. What a command runs is imported inside it, never at the top."""
