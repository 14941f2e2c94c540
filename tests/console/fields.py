"""Fields as people find them: by what stands beside them, in the tab that one sees."""

import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect


def field(page: Page, label: str) -> Locator:
    """The first visible one; hints belong to labels, so that the name is only the beginning of one."""
    return page.get_by_label(label).locator("visible=true").first


def kept(box: Locator, act: Callable[[], None], holds: Callable[[], bool]) -> None:
    """Do it until it stays: a part that was asked for before may be drawn a moment after its page."""
    until = time.monotonic() + 60
    while True:
        expect(box).to_be_visible(timeout=60_000)
        act()
        box.page.wait_for_timeout(700)
        if holds():
            return
        assert time.monotonic() < until, "it is drawn anew again and again"
