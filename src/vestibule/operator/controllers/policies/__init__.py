"""The status of IdentityPolicies: whether each can be understood."""
