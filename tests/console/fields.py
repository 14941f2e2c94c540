"""Fields as people find them: by what stands beside them, in the tab that one sees."""

from playwright.sync_api import Locator, Page


def field(page: Page, label: str) -> Locator:
    """The first visible one; hints belong to labels, so that the name is only the beginning of one."""
    return page.get_by_label(label).locator("visible=true").first
