"""Integrity of what is stored: orphans of every kind are found, counted and named, and mended where that is safe."""
