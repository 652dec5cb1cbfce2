"""Wire: AdmissionReview bytes to a Request and a Verdict back to bytes; JSON pointers and patches on raw
JSON."""
