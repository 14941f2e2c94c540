"""Extracts the values of a document by a JSON schema."""
