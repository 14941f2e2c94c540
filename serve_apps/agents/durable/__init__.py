"""Durable runs: journal, recorder, replay cursor, the loop that carries runs out."""
