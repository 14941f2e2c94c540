"""The semantic cache: scope, near-miss checks, single-flight, storage in Redis."""
