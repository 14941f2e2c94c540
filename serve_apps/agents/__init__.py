"""Agents: turns that are routed, planned, run through models and tools, journaled, and resumed."""
