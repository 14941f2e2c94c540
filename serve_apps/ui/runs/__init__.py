"""The page Runs: what agents did, step by step, what waits for a person, and whether it comes out the same again."""

from serve_apps.ui.runs.page import PAGE

__all__ = ["PAGE"]
