"""Pages as people find them: opened and filled, fields by what stands beside them, a question by the Enter key."""

import time
from collections.abc import Callable
from typing import Final

from playwright.sync_api import Locator, Page, expect

SLOW: Final = 90_000  # milliseconds; two cores may have a whole suite on them
# Pictures below the fold are fetched too; two frames later everything is on the screen.
PAINTED: Final = """async () => {
  for (const one of document.images) one.loading = 'eager';
  const shown = [...document.images].filter((one) => one.checkVisibility());
  if (!shown.every((one) => one.complete && one.naturalWidth > 0)) return false;
  await Promise.all(shown.map((one) => one.decode()));
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  return true;
}"""


def settled(page: Page, path: str) -> None:
    """Open a page of the console and wait until its parts are filled."""
    page.goto(f"/console/{path}")
    expect(page.locator("main h1, main [role=alert]").first).to_be_visible(timeout=SLOW)
    expect(page.locator(".aos-loading")).to_have_count(0, timeout=SLOW)


def painted(page: Page) -> None:
    """Wait until every picture on it is there and drawn."""
    page.wait_for_function(PAINTED, timeout=SLOW)


def ask(page: Page, words: str) -> None:
    """In a new conversation of Chat Studio, by keyboard."""
    page.goto("/console/chat")
    say(page, words)


def say(page: Page, words: str) -> None:
    """Where Chat Studio is open."""
    expect(page.get_by_label("Agent").first).to_have_value("assistant", timeout=SLOW)
    box = page.get_by_placeholder("Ask something")
    box.fill(words)
    box.press("Enter")


def field(page: Page, label: str) -> Locator:
    """The first visible one; hints belong to labels, so that the name is only the beginning of one."""
    return page.get_by_label(label).locator("visible=true").first


def kept(box: Locator, act: Callable[[], object], holds: Callable[[], bool]) -> None:
    """Do it until it stays: a part that was asked for before may be drawn a moment after its page."""
    until = time.monotonic() + 60
    while True:
        expect(box).to_be_visible(timeout=60_000)
        act()
        box.page.wait_for_timeout(700)
        if holds():
            return
        assert time.monotonic() < until, "it is drawn anew again and again"


def ticked(box: Locator) -> None:
    """Tick a box until it stays; Playwright's own `check` gives up where the click went to one that is drawn anew."""
    kept(box, lambda: box.is_checked() or box.click(timeout=SLOW), box.is_checked)
