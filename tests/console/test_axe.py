"""Every page, light and dark, before axe-core; pictures of each."""

from collections.abc import Callable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.conftest import Seen
from tests.console.lines import AXE, TASKS, Lines
from tests.console.test_roles import PAGES, settled

SERIOUS = ("serious", "critical")
FRAMEWORK = "svelte-"  # in the class of every element that Gradio itself draws


def findings(page: Page) -> list[tuple[str, str, bool]]:
    """Rule, element, and whether the element is the framework's own, of each serious finding."""
    response: dict[str, Any] = Axe().run(page).response
    return [
        (rule["id"], node["html"][:160], FRAMEWORK in node["html"].partition(">")[0])
        for rule in response["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def test_no_serious_finding_in_what_we_wrote(
    page: Page, seen: Seen, shot: Callable[[Page, str], None], lines: Lines
) -> None:
    expect(page.get_by_role("heading", name="Now")).to_be_visible(timeout=60_000)
    ours, brought = [], set()
    for path in PAGES:
        settled(page, path)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for rule, element, framework in findings(page):
                if framework:
                    brought.add((path, rule))
                else:
                    ours.append((path, scheme, rule, element))
        page.emulate_media(color_scheme="light")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, path
        page.set_viewport_size({"width": 390, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        page.set_viewport_size({"width": 1280, "height": 860})
        shot(page, f"page-{path or 'now'}")
    lines.tell("serious findings in what we wrote", len(ours), AXE, not ours)
    lines.report.figure(
        "serious findings the framework brings", ", ".join(sorted({rule for _, rule in brought})) or "none"
    )
    lines.tell("requests that left the origin", len(seen.foreign), TASKS, not seen.foreign)
    assert ours == []
    assert seen.foreign == []
