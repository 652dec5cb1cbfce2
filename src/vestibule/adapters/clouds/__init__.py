"""The clouds, each behind a few calls in our own values. SDKs are imported where they are used."""
