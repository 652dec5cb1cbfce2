"""The pipes: all sockets, clocks, files and threads live here."""
