"""The chain, end to end: a pod through the real API server and the real webhook, its volumes as the kubelet
lays them out, and the clouds' own SDKs logging in at doubles that verify the token."""
