"""The door: parses flags, prints, exits. An app is imported inside its command, never at the top."""
