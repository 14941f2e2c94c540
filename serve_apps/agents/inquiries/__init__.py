"""Inquiries: questions that an agent asks a person, what waits, and what a reply means."""
