"""A browser, and pages that are signed in; any request that leaves the origin fails the test."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from serve_apps.ui.app import PAGES
from tests.acceptance.conftest import ROOT, Product, administrator
from tests.acceptance.console.lines import PROMISED_SESSIONS, Lines
from tests.acceptance.console.looks import HEIGHT, LOOKS, USUAL, Look, Shot, pictures
from tests.acceptance.console.modelled import modelled
from tests.acceptance.console.people import sign_in, viewer
from tests.acceptance.console.places import addresses, made, stocked
from tests.acceptance.console.walked import Walked, walk

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Pictures, and what axe measures, are not to catch colours on their way.
STILL = """document.addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '* { transition: none !important; animation: none !important }';
  document.head.append(style);
});"""
LEAVING = ("AbortError", "Connection errored out")  # what Gradio says when one leaves a page that still listens
LOCAL = ("data:", "blob:", "about:")
ADMINISTRATOR, VIEWER = "administrator", "viewer"
LINES = pytest.StashKey[Lines]()


def thoroughly(config: pytest.Config) -> bool:
    """Whether every look of every page is looked at, as is promised, or a part of it beside all other tests."""
    return int(config.getoption("--sessions")) >= PROMISED_SESSIONS


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LINES] = Lines()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and report.passed:
        item.config.stash[LINES].passed.add(f"{item.path.name}::{item.name}")
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run of everything fails with a line that does not hold or that no test came to; other runs only tell it."""
    lines = session.config.stash[LINES]
    if not lines.windows:
        return
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    whole = thoroughly(session.config) and files <= {item.path.name for item in session.items}
    hold = lines.close([page.path for page in PAGES])
    lines.write(whole)
    if whole and not hold and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@dataclass
class Seen:
    """What a browser did: errors of its console, and requests to other places."""

    origin: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("request", lambda request: self._asked(request.url))
        context.on("console", lambda said: self._failed(said.text) if said.type == "error" else None)
        context.on("weberror", lambda error: self._failed(str(error.error)))

    def _failed(self, said: str) -> None:
        if not any(left in said for left in LEAVING):
            self.errors.append(said)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin + "/", *LOCAL)):
            self.foreign.append(url)


@pytest.fixture(scope="session")
def lines(pytestconfig: pytest.Config) -> Lines:
    """What the console promises, as figures of .reports/test-console.json; what no test filled in has failed."""
    return pytestconfig.stash[LINES]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is missing: make browser"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


def of(product: Product) -> Seen:
    """Nothing of its console yet."""
    return Seen(f"http://127.0.0.1:{product.settings.http.port}")


@pytest.fixture
def seen(product: Product) -> Seen:
    return of(product)


@contextmanager
def windows(browser: Browser, seen: Seen, lines: Lines) -> Iterator[Callable[[], Page]]:
    """Makes browsers of somebody who is not signed in; nothing that any of them asks for is elsewhere."""
    contexts: list[BrowserContext] = []

    def opened() -> Page:
        context = browser.new_context(base_url=seen.origin, viewport={"width": USUAL.width, "height": HEIGHT})
        context.add_init_script(STILL)
        seen.watch(context)
        contexts.append(context)
        lines.windows += 1
        return context.new_page()

    try:
        yield opened
    finally:
        for context in contexts:
            context.close()
    lines.foreign += seen.foreign
    assert seen.foreign == []


@pytest.fixture
def window(browser: Browser, seen: Seen, lines: Lines) -> Iterator[Callable[[], Page]]:
    with windows(browser, seen, lines) as opened:
        yield opened


@pytest.fixture
def stranger(window: Callable[[], Page]) -> Page:
    """A page of somebody who is not signed in."""
    return window()


@pytest.fixture
def page(stranger: Page, signed_in: Any, product: Product) -> Page:
    """A page of the administrator, whose first password was changed."""
    sign_in(stranger, product.settings.auth.admin_email)
    return stranger


@pytest.fixture(scope="session")
def looks(pytestconfig: pytest.Config) -> Mapping[str, Sequence[Look]]:
    """How each of the two who walk looks at a page: in every way; or, beside other tests, each in another."""
    if thoroughly(pytestconfig):
        return {ADMINISTRATOR: LOOKS, VIEWER: LOOKS}
    return {ADMINISTRATOR: LOOKS[:1], VIEWER: LOOKS[-1:]}


@pytest.fixture(scope="session")
def shot(lines: Lines, looks: Mapping[str, Sequence[Look]]) -> Shot:
    """`shot(page, name)` writes a picture of each look that the administrator has."""
    folder = Path(os.environ.get("CONSOLE_SHOTS", ROOT / ".reports" / "console"))
    return pictures(folder, looks[ADMINISTRATOR], lines)


@pytest.fixture(scope="session")
def walked(
    product: Product, signed_in: Any, browser: Browser, lines: Lines, looks: Mapping[str, Sequence[Look]], shot: Shot
) -> Walked:
    """Every page as the administrator and a Viewer see it; a run waits for approval meanwhile."""
    email, seen = "looks-only@orchestrator.local", of(product)
    with administrator(product) as http, viewer(http, email) as theirs, modelled(http, product) as host:
        wish = f"Read http://{host}/gauge with http_get. What is the grid frequency there, and what must be done now?"
        places = {path: list(of) for path, of in addresses(stocked(http, theirs, product)).items()}
        waiting = made(theirs, "/api/chat/assistant", {"message": wish, "stream": False})["run_id"]
        places["runs"].append(f"runs?id={waiting}")
        places["skills"].append("skills?skill=calculator")
        with windows(browser, seen, lines) as window:
            pages = {ADMINISTRATOR: window(), VIEWER: window()}
            sign_in(pages[ADMINISTRATOR], product.settings.auth.admin_email)
            sign_in(pages[VIEWER], email)
            found = walk(pages, places, looks, shot)
        theirs.post(f"/api/runs/{waiting}/cancel").raise_for_status()
    return found
