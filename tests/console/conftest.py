"""A browser, and pages that are signed in; any request that leaves the origin fails the test."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.acceptance.conftest import PASSWORD, ROOT, Product, http, product, signed_in
from tests.console.lines import Lines

__all__ = ["http", "product", "signed_in"]

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
# Pictures, and what axe measures, are not to catch colours on their way.
STILL = """document.addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '* { transition: none !important; animation: none !important }';
  document.head.append(style);
});"""
LEFT = ("AbortError", "Connection errored out")  # what Gradio says when one leaves a page that still listens
LOCAL = ("data:", "blob:", "about:")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sessions", type=int, default=25, help="how many are opened and closed; the promise is of 200")


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
        if not any(left in said for left in LEFT):
            self.errors.append(said)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.origin + "/", *LOCAL)):
            self.foreign.append(url)


@pytest.fixture(scope="session")
def lines() -> Iterator[Lines]:
    """What the console promises, as figures of .reports/test-console.json; what no test filled in has failed."""
    found = Lines()
    yield found
    found.finish()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "chromium is missing: make system"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def seen(product: Product) -> Seen:
    return Seen(f"http://127.0.0.1:{product.settings.http.port}")


@pytest.fixture
def stranger(browser: Browser, seen: Seen) -> Iterator[Page]:
    """A page of somebody who is not signed in."""
    context = browser.new_context(base_url=seen.origin, viewport={"width": 1280, "height": 860})
    context.add_init_script(STILL)
    seen.watch(context)
    yield context.new_page()
    context.close()
    assert seen.foreign == []


@pytest.fixture
def page(stranger: Page, signed_in: Any, product: Product) -> Page:
    """A page of the administrator, whose first password was changed."""
    sign_in(stranger, product.settings.auth.admin_email, PASSWORD)
    return stranger


def sign_in(page: Page, email: str, password: str) -> None:
    """Fill in the door's form; it stands at /console/sign-in or where one was sent there."""
    if "/sign-in" not in page.url:
        page.goto("/console/sign-in")
    page.fill("[name=email]", email)
    page.fill("[name=password]", password)
    page.click("button")


@pytest.fixture
def shot() -> Callable[[Page, str], None]:
    """`shot(page, name)` writes pictures at both widths, light and dark."""
    folder = Path(os.environ.get("CONSOLE_SHOTS", ROOT / ".reports" / "console"))
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        before = page.viewport_size
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in (1280, 390):
                page.set_viewport_size({"width": width, "height": 860})
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(before or {"width": 1280, "height": 860})

    return take
