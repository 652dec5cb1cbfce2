"""``python -m vestibule`` is ``vestibule``."""

from vestibule.cli.main import main

main()
