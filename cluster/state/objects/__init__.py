"""Object storage: a bucket of S3-compatible storage, and the way of bytes between it and a folder."""
