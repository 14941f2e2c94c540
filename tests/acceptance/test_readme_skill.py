"""The skill of skills/README.md, written to the letter, against the running product and a scripted model."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.conftest import ROOT, Product
from tests.acceptance.test_conversation import scripted
from tests.fakes.model_server import ModelServer
from tests.fakes.model_wires import Say, Use

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed: Python skills are refused"),
]
HEADING = "## Write a skill in five minutes"


def commands() -> str:
    """The section's commands, as a shell reads them."""
    section = (ROOT / "skills" / "README.md").read_text(encoding="utf-8").partition(HEADING)[2]
    found = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


def counting(body: Any) -> Say:
    """A model that calls the new tool once it has it, and says what it gave."""
    for message in body["messages"]:
        if message["role"] == "tool":
            return Say(f"The tool says {message['content']}.")
    if not body.get("tools"):
        return Say("Let me count them.")
    assert "never count yourself" in str(body["messages"][0]["content"]), "the skill's text is part of the prompt"
    return Say(calls=(Use("count_working_days", {"start": "2026-11-02", "end": "2026-11-30"}),))


@pytest.fixture
def model(http: httpx.Client) -> Iterator[ModelServer]:
    with scripted(http, counting) as served:
        yield served


def test_sk_06_readme_makes_a_skill_that_an_agent_uses(product: Product, model: ModelServer, tmp_path: Path) -> None:
    """SK-06, SK-10: what the manual says makes a package, brings it in, and an agent calls it; 21 is right."""
    programs = tmp_path / "bin"
    programs.mkdir()
    aos = programs / "aos"
    aos.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m cluster.cli "$@"\n')
    aos.chmod(0o755)
    environment = product.environment | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"working_days": 21' in done.stdout, done.stdout + done.stderr
