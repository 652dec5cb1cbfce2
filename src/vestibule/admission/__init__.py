"""AdmissionReview bytes to a request, a verdict back to bytes, JSON pointers and patches. Pure."""
