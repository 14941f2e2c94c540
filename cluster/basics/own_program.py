"""Command lines of the product's own programs."""

import sys


def own_program(module: str, *words: str) -> tuple[str, ...]:
    """The line that runs a module of ours: not one of that name in the folder that somebody stands in (`-P`)."""
    return (sys.executable, "-P", "-m", module, *words)
