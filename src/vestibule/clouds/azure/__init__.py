"""Azure through its own SDKs: the clouds there are, logins, and the resource manager in values of ours."""
