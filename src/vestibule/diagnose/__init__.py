"""Read-only commands: explain, lint, doctor, audit, migrate, and the offline decision."""
