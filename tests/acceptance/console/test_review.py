"""Review in a browser: a line is corrected beside its picture by keyboard, and is found; a page is marked as fine."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import Product
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot
from tests.samples.make_samples import DPI, paper

SCAN = "harbour-scan.pdf"  # no other test has it
TEXT = "Log of the harbour\n\nThe pilot boarded at seven. The tide was low."
CORRECTED = "The pilot boarded at quarter past seven with Zacharias Quill."


@pytest.fixture
def document(product: Product, page: Page) -> str:
    """A scan of one page that was read."""
    folder = Path(product.settings.read.nfs_base_path or "") / "console-review"
    folder.mkdir(exist_ok=True)
    paper(TEXT, 30, 74).save(folder / SCAN, "PDF", resolution=DPI)
    done = product.aos("ingest", str(folder), "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    page.goto(f"/console/documents?search={SCAN}")
    link = page.get_by_role("link", name=SCAN)
    expect(link).to_be_visible(timeout=SLOW)
    address = link.get_attribute("href") or ""
    return address.rpartition("=")[2]


def test_a_line_is_corrected_beside_its_picture_and_found(page: Page, document: str, shot: Shot) -> None:
    page.goto("/console/review")
    expect(page.get_by_role("heading", name="Review")).to_be_visible(timeout=SLOW)
    shot(page, "review")
    page.goto(f"/console/review?document={document}&page=1")
    lines = page.locator(".review-lines input[type=text]")
    expect(lines.first).to_be_visible(timeout=SLOW)
    expect(page.locator(".doc-sheet img")).to_be_visible(timeout=SLOW)
    lines.last.focus()
    assert page.locator(".doc-sheet .w.lit").count() >= 1, "the words of the line are lit in the picture"
    shot(page, "review-page")
    lines.last.fill(CORRECTED)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Saved: searches and answers have it from now on.")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("heading", name="Corrections")).to_be_visible(timeout=SLOW)
    expect(page.locator(".review-lines input[type=text]").last).to_have_value(CORRECTED)
    page.get_by_role("button", name="Fine as it is").click()
    expect(page.get_by_text("Marked as fine.")).to_be_visible(timeout=SLOW)
    page.goto("/console/search")
    box = page.get_by_label("Question", exact=True)
    expect(box).to_be_visible(timeout=SLOW)
    box.fill("Zacharias Quill")
    box.press("Enter")
    expect(page.get_by_text("Zacharias Quill").first).to_be_visible(timeout=SLOW)
