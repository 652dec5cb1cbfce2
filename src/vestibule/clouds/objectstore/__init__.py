"""Places for small public documents: a directory, Azure blobs, S3, Google Cloud Storage; one port for all."""
