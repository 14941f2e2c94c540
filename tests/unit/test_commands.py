"""Commands that the manuals tell people to type exist, and so do the places that they lead to."""

import re
from pathlib import Path

import pytest
import typer.main

from cluster import cli

ROOT = Path(__file__).parents[2]
MANUALS = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted(ROOT.glob("*/README.md")))}
LONGEST = 300  # lines: the first page is read in one sitting, the rest is in the manuals


def test_every_make_command_of_the_manuals_is_a_target_with_a_sentence() -> None:
    """DP-04: installing, starting and stopping are one command each."""
    makefile = (ROOT / "Makefile").read_text()
    described = set(re.findall(r"^([a-z][a-z0-9-]*):.*## \S", makefile, re.MULTILINE))
    named = {name for path in MANUALS.values() for name in re.findall(r"\bmake\s([a-z][a-z0-9-]*)", path.read_text())}
    assert {"install", "demo", "up", "down", "doctor", "test"} <= described and {"demo", "test", "up"} <= named
    assert named <= described


@pytest.mark.parametrize("manual", MANUALS)
def test_every_link_of_a_manual_leads_somewhere(manual: str) -> None:
    path = MANUALS[manual]
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        page = path.parent / file
        assert page.exists(), target
        titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("manual", MANUALS)
def test_every_aos_command_of_a_manual_exists(manual: str) -> None:
    commands = typer.main.get_group(cli.app).commands
    text = MANUALS[manual].read_text(encoding="utf-8").replace("\n", " \n")
    for name, rest in re.findall(r"(?:`|^)aos ([a-z][a-z-]*)(?:\s+([a-z][a-z|-]*))?", text, re.MULTILINE):
        assert name in commands, name
        group = getattr(commands[name], "commands", {})
        assert not group or not rest or set(rest.split("|")) <= set(group), f"{name} {rest}"


def test_the_first_page_stays_short() -> None:
    assert len(MANUALS["README.md"].read_text(encoding="utf-8").splitlines()) <= LONGEST
