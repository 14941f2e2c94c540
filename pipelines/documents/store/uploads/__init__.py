"""Uploads in parts: sessions as rows, parts as bytes, and what has ended is cleared away."""
