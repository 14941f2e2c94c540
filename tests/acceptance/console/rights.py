"""What can be used on each page: by everybody, a Viewer among them, and what only those with more rights are offered.

Entries are a role and a name as screen readers tell them, `*` for what may follow: hints belong to names.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import Final

from playwright.sync_api import Page, expect

from tests.acceptance.console.fields import SLOW

USED: Final = (
    "button",
    "checkbox",
    "combobox",
    "listbox",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "textbox",
)
NAMED: Final = re.compile(rf"""^\s*- '?({"|".join((*USED, "link"))})(?: "((?:[^"\\]|\\.)*)")?""", re.MULTILINE)
UNFOLD: Final = """() => {
  document.querySelectorAll('details:not([open])').forEach((one) => { one.open = true; });
  document.querySelectorAll('button.label-wrap:not(.open)').forEach((one) => one.click());
}"""
QUIET_MS: Final = 1000
MOST_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Offer:
    """Attributes:
    everybody: what a Viewer may use, too.
    more: what a Viewer would be refused; the administrator sees each.
    sometimes: the same, of things that are not always there.
    """

    everybody: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()


FRAME: Final = ("button Sign out",)
OFFERS: Final[Mapping[str, Offer]] = {
    "": Offer(),
    "ingest": Offer(
        more=(
            "textbox Folder or file", "combobox Link to agent", "button Estimate first", "button Scan now",
            "button *pload*", "button Resume", "button Retry what failed",
        ),
        sometimes=(
            "button */", "button ↑ up", "button Cancel", "button Pause *", "button Resume *", "button Retry *",
            "button Discard *", "button Hide *",
        ),
    ),
    "documents": Offer(
        everybody=(
            "searchbox Search", "combobox State", "combobox Type", "textbox Added *", "button Search",
            "combobox Order", "link Figures", "spinbutton Page*", "checkbox Word boxes", "checkbox Confidence",
        ),
        more=(
            "link Add documents", "button Process again", "button Delete …", "button Link",
            "combobox Agent to link it to", "textbox Who may see it*", "button Change",
            "textbox Its class of data*", "button Set class",
        ),
        sometimes=("button Unlink",),
    ),
    "review": Offer(
        everybody=("searchbox Search", "combobox Why", "combobox State", "button Search"),
        more=("textbox Line *", "button Save", "button Fine as it is"),
        sometimes=("button Look at it again",),
    ),
    "chat": Offer(
        everybody=(
            "textbox Your message*", "button Send", "combobox Agent*", "radio Whatever fits", "radio Documents only",
            "*About these files*",
        ),
    ),
    "search": Offer(
        everybody=(
            "textbox Question*", "button Search", "button Ask", "button Stages and filters*", "combobox Strategy*",
            "combobox Least similarity*", "combobox Rerank*", "combobox Enhance with a model*",
            "combobox Pack a context*", "combobox Cache*", "combobox Passages in the chart*", "combobox As agent*",
            "combobox Type of file*",
            "textbox Part of the filename*", "textbox YYYY-MM-DD*", "button",  # the framework's calendars have no names
        ),
        more=(
            "combobox Golden set*", "button Save a question*", "textbox Golden question*", "textbox Right answers*",
            "button Save as golden question", "button New golden set*", "textbox Name of the new set*",
            "button Make the set", "button Run the evaluation",
        ),
    ),
    "index": Offer(
        everybody=("combobox Language of the workspace's words*",),
        more=(
            "button Build a new index*", "button Re-index everything", "button Switch or go back*", "button Switch",
            "button Let a set guard the index*", "button Keep this", "button Forget what is remembered*",
            "button Forget it", "button Change the language",
        ),
        sometimes=("button Reset to default value",),
    ),
    "runs": Offer(
        everybody=(
            "combobox State", "combobox Agent", "combobox Feedback", "button Show", "button Replay it",
            "button Stop it", "button Go on with it", "button Good answer", "button Not good",
            "textbox A word about it*",
        ),
        more=(
            "combobox Whose", "button Replay with another model or prompt*",
            "button Compare; models are asked in earnest", "textbox Reason*", "button Approve", "button Reject",
        ),
    ),
    "agents": Offer(
        more=(
            "link New agent", "button Make the agent", "button Save what changed", "button Give it the chosen skills",
            "button Take these away", "button Link the chosen", "button Unlink the chosen", "textbox Its name*",
            "button A connection of its own for a kind of task*", "button Delete this agent",
        ),
    ),
    "skills": Offer(
        everybody=(
            "textbox Search*", "combobox Category*", "combobox Type*", "combobox Risk*", "button ← Before",
            "button After →", "combobox Agent*",
        ),
        more=(
            "button Call it", "button Remove this skill with all its versions", "button *pload*", "button Import",
            "button Try it", "button Enrol", "button Examine now",
        ),
        sometimes=("button Copy", "button Download"),
    ),
    "system": Offer(
        more=(
            "button Save", "button Restart it", "link Add a connection", "link Add somebody", "button Make the key",
            "link Add a credential", "link Add a schedule", "link Add a webhook", "button Run now", "button Pause",
            "button Delete", "button Show", "button Make the workspace", "button Make the tenant", "button Set it",
            "link Erase something", "link Change …", "link Add a source", "button Add it", "button Sync now",
            "button Dry run", "button Resume", "button Save it", "button Remove it", "button Delete all", "button Test",
        ),
        sometimes=(
            "button Discard", "button Take back", "button Restart now", "button Revoke",
            "button Erase what came back", "button Delete it now", "button Send * again",
        ),
    ),
}  # fmt: skip


def fits(control: str, patterns: Iterable[str]) -> bool:
    """Whether it is declared."""
    return any(fnmatchcase(control, pattern) for pattern in patterns)


def named(told: str) -> set[str]:
    """What can be used, of what screen readers are told of a page."""
    return {" ".join(filter(None, found)) for found in NAMED.findall(told)}


def controls(*pages: Page) -> list[set[str]]:
    """What can be used on each page and in all its tabs, with everything unfolded: "button Save", "link Help"."""
    found = _resting(pages)  # before that a page may still choose the tab that its address asks for
    names = [page.get_by_role("tab").locator("visible=true").all_inner_texts() for page in pages]
    for row in zip_longest(*names):
        tabs = [
            page.get_by_role("tab", name=name.strip(), exact=True).locator("visible=true").first
            for page, name in zip(pages, row, strict=True)
            if name is not None
        ]
        for tab in tabs:
            tab.click()
        found = [before | now for before, now in zip(found, _resting(pages), strict=True)]
        for tab in tabs:
            expect(tab).to_have_attribute("aria-selected", "true")
    return found


def _resting(pages: Sequence[Page]) -> list[set[str]]:
    """What stands there once none has changed for a while; parts are hidden and shown a moment after their page."""
    until, before = time.monotonic() + MOST_SECONDS, list[set[str]]()
    while True:
        now = []
        for page in pages:
            expect(page.locator(".aos-loading")).to_have_count(0, timeout=SLOW)
            page.evaluate(UNFOLD)
            now.append(named(page.locator("body").aria_snapshot()))
        if now == before:
            return now
        assert time.monotonic() < until, f"it does not rest: {[a ^ b for a, b in zip(now, before or now, strict=True)]}"
        before = now
        pages[0].wait_for_timeout(QUIET_MS)
