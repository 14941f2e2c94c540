"""Exact arithmetic on an expression that is parsed, never evaluated as code."""
