"""Synchronised sources: their rows, the job that carries out a plan, and the clock that starts it."""
