"""Embedding: local encoder, endpoints, batching, cache, and the migration to another embedder."""
