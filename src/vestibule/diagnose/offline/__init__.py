"""The same decision without a cluster: inject, explain, lint."""
