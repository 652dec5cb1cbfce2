"""The sandbox of a pod: runtime class, Kata annotations, peer-pod sizing."""
