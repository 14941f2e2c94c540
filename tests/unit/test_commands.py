"""What README tells people to type exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_make_command_of_the_readme_is_a_target_with_a_sentence() -> None:
    """DP-04: installing, starting and stopping are one command each."""
    makefile = (ROOT / "Makefile").read_text()
    told = set(re.findall(r"^([a-z][a-z0-9-]*):.*## \S", makefile, re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z][a-z0-9-]*)", (ROOT / "README.md").read_text()))
    assert {"install", "demo", "up", "down", "doctor", "test"} <= told and {"demo", "test", "up"} <= named
    assert named <= told
