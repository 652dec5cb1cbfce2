"""Azure against the simulator that users can run: real SDKs over real HTTPS."""
