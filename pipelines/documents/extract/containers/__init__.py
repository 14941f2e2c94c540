"""Containers: archives and letters whose members become documents of their own."""
