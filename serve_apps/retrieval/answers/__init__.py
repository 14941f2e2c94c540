"""Answers: generation, extraction, citation checks, abstention, conflicts, stored answers."""
