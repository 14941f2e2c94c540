"""Reranking: cross-encoder, remote service, language model as a judge."""
