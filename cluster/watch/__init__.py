"""Liveness of this machine's processes: they are asked, told apart from busy ones, and ended where they hang."""
