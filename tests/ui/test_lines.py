"""The figures of the browser's tests: a line that no test filled in has failed, and so has a page without a task."""

import re
from pathlib import Path

import pytest

from serve_apps.ui.app import PAGES
from tests.acceptance.console import lines
from tests.acceptance.console.lines import FIGURES, PAGE_TASKS, Lines
from tests.acceptance.console.rights import FRAME, OFFERS, fits, named
from tests.evals.report import Figure

HERE = Path(lines.__file__).parent
PATHS = [page.path for page in PAGES]


def filled() -> Lines:
    """Every figure told, every page's task passed and pictured."""
    found = Lines(windows=1)
    for name in FIGURES:
        if name not in (lines.DONE, lines.PICTURED, lines.LEFT):
            found.tell(name, 1, True)
    found.passed, found.pictured = set(PAGE_TASKS.values()), set(PATHS)
    return found


def of(found: Lines, name: str) -> Figure:
    """Its one figure of that name."""
    (figure,) = [one for one in found.report.figures if one.name == name]
    return figure


def test_all_figures_hold_when_every_test_told_its_own() -> None:
    assert filled().close(PATHS)


@pytest.mark.parametrize("missing", FIGURES)
def test_a_figure_that_no_test_told_has_failed(missing: str) -> None:
    found = filled()
    found.report.figures = [one for one in found.report.figures if one.name != missing]
    match missing:
        case lines.DONE:
            found.passed.clear()
        case lines.PICTURED:
            found.pictured.clear()
        case lines.LEFT:
            found.windows = 0
    assert not found.close(PATHS)
    assert of(found, missing).holds is False and of(found, missing).goal == FIGURES[missing]


def test_a_page_added_without_a_task_fails() -> None:
    found = filled()
    assert not found.close([*PATHS, "added"])
    assert of(found, lines.DONE).value == f"{len(PATHS)} of {len(PATHS) + 1}"


def test_a_request_that_left_the_origin_fails() -> None:
    found = filled()
    found.foreign.append("https://fonts.example/a.woff2")
    assert not found.close(PATHS)


def test_every_page_has_a_task_and_every_task_is_a_test() -> None:
    assert set(PAGE_TASKS) == set(PATHS)
    for task in PAGE_TASKS.values():
        file, _, name = task.partition("::")
        assert re.search(rf"^def {name}\(", (HERE / file).read_text(encoding="utf-8"), re.MULTILINE), task


def test_every_figure_is_told_by_a_test() -> None:
    """By its name as it stands in the tests, or as the lines themselves count it."""
    text = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    own = {lines.DONE, lines.PICTURED, lines.LEFT}
    told = {name for name in FIGURES if f'"{name}"' in text}
    assert set(FIGURES) - own - told == {f"memory grown by {lines.PROMISED_SESSIONS} sessions"}
    assert 'f"memory grown by {sessions} sessions"' in text


def test_every_page_declares_what_a_viewer_may_use_of_it() -> None:
    """A page without a word about that would be looked at by nobody; nothing is for everybody and for others only."""
    assert set(OFFERS) == set(PATHS)
    for path, offer in OFFERS.items():
        assert not [one for one in offer.more if fits(one, (*FRAME, *offer.everybody))], path


def test_controls_are_read_from_what_screen_readers_are_told() -> None:
    told = """
- banner:
  - button "Sign out"
- main:
  - heading "Agents" [level=1]
  - 'textbox "Name: of it"': lamp
  - listbox "Agent" [disabled]
  - button [disabled]
  - link "New \\"agent\\"":
    - /url: /console/agents?new=1
"""
    assert named(told) == {"button Sign out", "textbox Name: of it", "listbox Agent", "button", 'link New \\"agent\\"'}
