"""Every page before axe-core, as administrator and as Viewer, light and dark, wide and narrow; pictures of each."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.acceptance.conftest import ROOT, Product
from tests.console.conftest import Look
from tests.console.fields import settled
from tests.console.lines import Lines
from tests.console.people import sign_in, viewer
from tests.console.places import addresses, stocked

SERIOUS = ("serious", "critical")
FRAMEWORK = "svelte-"  # in the class of every element that Gradio itself draws
Finding = tuple[str, str, bool]


def findings(page: Page) -> list[Finding]:
    """Rule, element, and whether the element is the framework's own, of each serious finding."""
    response: dict[str, Any] = Axe().run(page).response
    return [
        (rule["id"], node["html"][:160], FRAMEWORK in node["html"].partition(">")[0])
        for rule in response["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


def looked_at(page: Page, address: str, looks: Iterable[Look]) -> list[tuple[str, Finding]]:
    """A page in several looks, each with what axe finds; nothing of it stands out of the window."""
    found = []
    settled(page, address)
    for scheme, width in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (address, width)
        found += [(f"{scheme} {width}", one) for one in findings(page)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 860})
    return found


def test_no_serious_finding_in_what_we_wrote(
    page: Page,
    window: Callable[[], Page],
    http: httpx.Client,
    product: Product,
    shot: Callable[[Page, str], None],
    looks: tuple[Look, ...],
    lines: Lines,
) -> None:
    with viewer(http, "sees-all-pages@orchestrator.local") as asker:
        places = addresses(stocked(http, asker, product))
    other = window()
    sign_in(other, "sees-all-pages@orchestrator.local")
    ours: dict[str, set[str]] = {}
    brought: dict[str, set[str]] = {}
    for who, its in (("administrator", page), ("viewer", other)):
        for path, of in places.items():
            for address in of:
                for look, (rule, element, framework) in looked_at(its, address, looks):
                    if framework:
                        brought.setdefault(rule, set()).add(path or "now")
                    else:
                        ours.setdefault(f"{address} {rule} {element}", set()).add(f"{who} {look}")
            if its is page:
                settled(its, path)
                shot(its, f"page-{path or 'now'}")
    listed = "; ".join(f"{rule} on {', '.join(sorted(pages))}" for rule, pages in sorted(brought.items()))
    lines.report.figure("serious findings the framework brings", listed or "none")
    lines.tell("serious findings in what we wrote", len(ours), not ours)
    assert not ours, json.dumps({what: sorted(looks) for what, looks in ours.items()}, indent=1, ensure_ascii=False)


def test_readme_shows_four_pictures_that_are_there(lines: Lines) -> None:
    shown = re.findall(r"!\[[^\]]+\]\((\.github/pictures/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    there = [one for one in shown if (ROOT / one).is_file()]
    lines.tell("pictures that README shows", len(there), len(there) == len(shown) == 4)
    assert len(there) == len(shown) == 4
