"""ARM, Entra and blobs of one subscription over HTTPS: strict about what is sent, with faults on demand."""
