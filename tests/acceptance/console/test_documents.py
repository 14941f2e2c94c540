"""Documents in a browser: find one by keyboard, read a page beside its picture, follow a passage, delete with care."""

import os
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import Product
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot
from tests.samples.make_samples import DPI, paper

SCAN = "lighthouse-scan.pdf"  # no other test has it: it is the only one of its name, in whatever order tests run
PAGES = (
    "Inspection of the lighthouse\n\nThe lamp was cleaned and its lens polished. The spare bulb is kept in the "
    "cupboard below the stairs.\n\nThe door of the gallery needs a new hinge before the winter.",
    "Inspection, second page\n\nThe fog horn was sounded twice. It is to be greased every spring.",
)


@pytest.fixture(scope="module")
def shelf(product: Product) -> Path:
    """A folder of the product with a scan that has two pages."""
    folder = Path(product.settings.read.nfs_base_path or "") / "console-documents"
    folder.mkdir(exist_ok=True)
    first, second = (paper(text, 30, 74) for text in PAGES)
    first.save(folder / SCAN, "PDF", resolution=DPI, save_all=True, append_images=[second])
    (folder / "to-be-deleted.txt").write_text("Nobody needs this any more.")
    return folder


def open_list(page: Page, product: Product, shelf: Path, search: str = "") -> None:
    done = product.aos("ingest", str(shelf), "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    page.goto(f"/console/documents?search={search}")
    expect(page.locator(".aos-table tbody a").first).to_be_visible(timeout=SLOW)


def test_a_document_is_found_read_and_its_passage_shown_by_keyboard(
    page: Page, product: Product, seen: Seen, shot: Shot, shelf: Path
) -> None:
    open_list(page, product, shelf)
    shot(page, "documents")
    page.get_by_label("Search", exact=True).fill("lighthouse")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 found")).to_be_visible(timeout=SLOW)
    assert "search=lighthouse" in page.url
    page.get_by_role("link", name=SCAN).focus()
    page.keyboard.press("Enter")
    sheet = page.locator(".doc-sheet")
    expect(sheet.locator("img")).to_be_visible(timeout=SLOW)
    words = page.locator(".doc-text .w")
    assert words.count() == sheet.locator(".w").count() > 10

    words.nth(0).focus()
    page.keyboard.press("ArrowRight")
    expect(words.nth(1)).to_be_focused()
    expect(sheet.locator(".w").nth(1)).to_have_class(re.compile(r"\blit$"))
    sheet.locator(".w").nth(3).hover()
    lit = words.nth(3).get_attribute("class")
    assert lit is not None and lit.endswith("lit"), "hovering the picture lights the word in the text"
    shot(page, "document")

    viewer = page.locator(".doc-viewer")
    page.get_by_label("Confidence", exact=True).uncheck()
    assert "heat" not in (viewer.get_attribute("class") or "").split()
    page.get_by_role("link", name="Next page").press("Enter")
    expect(page.get_by_role("region", name="Page 2")).to_be_visible(timeout=SLOW)
    assert "page=2" in page.url
    page.go_back()
    expect(page.get_by_role("region", name="Page 1")).to_be_visible(timeout=SLOW)
    assert seen.errors == []


def test_an_address_with_boxes_marks_the_passage_in_picture_and_text(
    page: Page, product: Product, shelf: Path, shot: Shot
) -> None:
    open_list(page, product, shelf, SCAN)
    page.get_by_role("link", name=SCAN).click()
    word = page.locator(".doc-sheet .w").nth(2)
    expect(word).to_be_visible(timeout=SLOW)
    at = dict(one.split(":") for one in (word.get_attribute("style") or "").split(";"))
    left, top, wide, tall = (float(at[name].rstrip("%")) / 100 for name in ("left", "top", "width", "height"))
    said = (word.get_attribute("title") or "").split(" · ")[0]
    page.goto(f"{page.url}&page=1&boxes={left},{top},{left + wide},{top + tall}")
    expect(page.locator(".doc-sheet .doc-passage")).to_have_count(1, timeout=SLOW)
    expect(page.locator(".doc-text .doc-passage")).to_have_text([said])
    shot(page, "passage")


def test_a_document_that_was_opened_before_it_was_read_is_shown_by_its_link(
    page: Page, http: httpx.Client, tmp_path: Path
) -> None:
    scan = tmp_path / f"buoys-{os.getpid()}.pdf"
    first, *rest = (paper(f"The buoy of the harbour, sheet {number}\n\nIt was painted.", 30, 74) for number in range(6))
    first.save(scan, "PDF", resolution=DPI, save_all=True, append_images=rest)
    sent = http.post("/api/documents/upload", files={"file": (scan.name, scan.read_bytes())}).raise_for_status().json()
    page.goto(f"/console/documents?id={sent['document_id']}")
    arrived, read = page.get_by_role("link", name="Show them"), page.get_by_role("region", name="Page 1", exact=True)
    expect(arrived.or_(read)).to_be_visible(timeout=SLOW)
    if arrived.is_visible():
        arrived.click()
    expect(read).to_be_visible(timeout=SLOW)


def test_a_deletion_shows_what_goes_with_it_first(page: Page, product: Product, shelf: Path, shot: Shot) -> None:
    open_list(page, product, shelf, "to-be-deleted")
    page.get_by_role("link", name="to-be-deleted.txt").click()
    page.get_by_role("button", name="Delete …").click(timeout=SLOW)
    asked = page.get_by_role("alertdialog")
    expect(asked).to_contain_text("1 version with 1 page of text", timeout=SLOW)
    shot(page, "delete")
    asked.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("status").filter(has_text="Deleted, with 1 page and 1 passage.")).to_be_visible(
        timeout=SLOW
    )
    assert page.url.endswith("/console/documents")
    expect(page.get_by_role("link", name="to-be-deleted.txt")).to_have_count(0)
