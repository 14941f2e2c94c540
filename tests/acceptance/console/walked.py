"""One walk through every page, two people side by side: what axe-core finds in it, and what each is offered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.acceptance.console.fields import settled
from tests.acceptance.console.looks import USUAL, Look, Shot
from tests.acceptance.console.rights import controls

SERIOUS: Final = ("serious", "critical")
FRAMEWORK: Final = "svelte-"  # in the class of every element that Gradio itself draws
ONLY: Final = {"resultTypes": ["violations"]}  # to describe everything that is right takes most of its time


@dataclass(frozen=True, slots=True)
class Walked:
    """What was seen of every page, by its path.

    Attributes:
        offered: by who looked, what can be used at any address of it.
        ours: serious findings in what we wrote, as address, rule and element, with who saw it in which look.
        brought: rules that elements of the framework break.
    """

    offered: Mapping[str, dict[str, set[str]]]
    ours: dict[str, set[str]] = field(default_factory=dict)
    brought: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A serious one: which rule, of which element, and whether that is the framework's own."""

    rule: str
    element: str
    framework: bool


def walk(
    pages: Mapping[str, Page], places: Mapping[str, Sequence[str]], looks: Mapping[str, Sequence[Look]], shot: Shot
) -> Walked:
    """Every address by each of `pages`, in the looks of whoever looks; `shot` takes pictures of the first one's."""
    found, first = Walked({who: {} for who in pages}), next(iter(pages.values()))
    for path, of in places.items():
        for number, address in enumerate(of):
            for page in pages.values():
                settled(page, address)
            for who, page in pages.items():
                for look, finding in _looked_at(page, address, looks[who]):
                    if finding.framework:
                        found.brought.setdefault(finding.rule, set()).add(path or "now")
                    else:
                        at = f"{address} {finding.rule} {finding.element}"
                        found.ours.setdefault(at, set()).add(f"{who} {look}")
            if number == 0:
                shot(first, f"page-{path or 'now'}")
            for who, there in zip(pages, controls(*pages.values()), strict=True):
                found.offered[who].setdefault(path, set()).update(there)
    return found


def _looked_at(page: Page, address: str, looks: Iterable[Look]) -> list[tuple[str, Finding]]:
    """The page in several looks, each with what axe finds; nothing of it stands out of the window."""
    found = []
    for look in looks:
        look.at(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= look.width, (address, look)
        found += [(str(look), one) for one in _findings(page)]
    USUAL.at(page)
    return found


def _findings(page: Page) -> list[Finding]:
    response: dict[str, Any] = Axe().run(page, options=ONLY).response
    return [
        Finding(rule["id"], node["html"][:160], FRAMEWORK in node["html"].partition(">")[0])
        for rule in response["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]
