"""Reads a text from an address that the model names."""
