"""Extraction: JSON that fits a given schema, each value of it with the place in the document that states it."""
