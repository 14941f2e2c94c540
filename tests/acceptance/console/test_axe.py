"""Every page before axe-core, as administrator and as Viewer, light and dark, wide and narrow; pictures of each."""

import json
import re

from tests.acceptance.conftest import ROOT
from tests.acceptance.console.lines import Lines
from tests.acceptance.console.walked import Walked


def test_no_serious_finding_in_what_we_wrote(walked: Walked, lines: Lines) -> None:
    ours, brought = walked.ours, walked.brought
    listed = "; ".join(f"{rule} on {', '.join(sorted(pages))}" for rule, pages in sorted(brought.items()))
    lines.report.figure("serious findings the framework brings", listed or "none")
    lines.tell("serious findings in what we wrote", len(ours), not ours)
    assert not ours, json.dumps({what: sorted(looks) for what, looks in ours.items()}, indent=1, ensure_ascii=False)


def test_readme_shows_four_pictures_that_are_there(lines: Lines) -> None:
    shown = re.findall(r"!\[[^\]]+\]\((\.github/pictures/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    there = [one for one in shown if (ROOT / one).is_file()]
    lines.tell("pictures that README shows", len(there), len(there) == len(shown) == 4)
    assert len(there) == len(shown) == 4
