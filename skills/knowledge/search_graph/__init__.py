"""Looks up what the documents name, and how it is related."""
