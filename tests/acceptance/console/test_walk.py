"""The whole way of an operator, in one browser: from signing in over a citation and an approval to signing out."""

import shutil
import time
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import ROOT, Product
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, ask
from tests.acceptance.console.lines import Lines
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.modelled import modelled

SAMPLES = (
    "annual-report-2025.pdf",
    "board-minutes-scan.pdf",
    "control-room.md",
    "meter-letter.png",
    "tariffs-2026.xlsx",
)
BROKEN = "hand-over.txt"
DRAWN = """async () => {
  const picture = document.querySelector('.doc-sheet img');
  if (!picture?.complete || picture.naturalWidth < 500) return false;
  await picture.decode();
  return true;
}"""
QUESTION = "What repair budget did the board approve for turbine four?"


def test_from_signing_in_to_signing_out(
    page: Page, product: Product, http: httpx.Client, seen: Seen, shot: Shot, lines: Lines
) -> None:
    folder = Path(product.settings.read.nfs_base_path or "") / "walk"
    folder.mkdir()
    for name in SAMPLES:
        shutil.copy(ROOT / "tests" / "samples" / name, folder / name)
    (folder / BROKEN).write_bytes(b"")

    job = scan(page)
    cited(page, shot)
    with modelled(http, product) as host:
        approved(page, host)
    (folder / BROKEN).write_text("The night shift hands over at six in the morning.")
    retried(page, job)
    rolled_back(page, http)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible(timeout=SLOW)
    page.goto("/console/documents")
    assert "/sign-in" in page.url
    assert seen.errors == [] and seen.foreign == []
    lines.tell("the walk, in one browser", "done", True)


def scan(page: Page) -> str:
    """The folder is read to the last page but for the broken file; returns the address of its job."""
    page.goto("/console/ingest")
    page.get_by_role("button", name="walk/").click(timeout=SLOW)
    expect(page.get_by_label("Folder or file")).to_have_value("walk", timeout=SLOW)
    page.get_by_role("button", name="Estimate first").click()
    page.get_by_role("button", name="Start this scan").click(timeout=SLOW)
    page.get_by_role("link", name="follow the job").click(timeout=SLOW)
    expect(page.locator(".aos-heading .aos-badge", has_text="partial")).to_be_visible(timeout=SLOW)
    bars = page.locator(".aos-progress progress")
    expect(bars.nth(2)).to_be_visible(timeout=SLOW)  # files, pages, documents
    for n in range(bars.count()):
        assert bars.nth(n).get_attribute("value") == bars.nth(n).get_attribute("max"), "100 %"
    return page.url


def cited(page: Page, shot: Shot) -> None:
    """An answer's citation opens the scanned page, its passage boxed in the picture and marked in the text."""
    ask(page, QUESTION)
    chip = page.locator(".aos-answer:not(.live) a.aos-chip", has_text="board-minutes-scan.pdf").first
    expect(chip).to_be_visible(timeout=SLOW)
    with page.context.expect_page(timeout=SLOW) as opened:
        chip.click()
    shown = opened.value
    expect(shown.get_by_role("region", name="Page 1")).to_be_visible(timeout=SLOW)
    shown.wait_for_function(DRAWN, timeout=SLOW)
    box = shown.locator(".doc-sheet .doc-passage").first
    expect(box).to_be_visible(timeout=SLOW)
    place, sheet = box.bounding_box(), shown.locator(".doc-sheet").bounding_box()
    assert place is not None and sheet is not None and place["width"] > 20 and place["height"] > 5
    assert sheet["x"] <= place["x"] and place["x"] + place["width"] <= sheet["x"] + sheet["width"] + 1
    marked = " ".join(shown.locator(".doc-text .doc-passage").all_inner_texts())
    assert "48,600" in " ".join(marked.split())
    shot(shown, "citation")
    shown.close()


def approved(page: Page, host: str) -> None:
    """What the agent wants to do waits in the chat; once allowed, the answer goes on there."""
    ask(page, f"Read http://{host}/gauge with http_get. What is the grid frequency there, and what must be done now?")
    page.get_by_role("button", name="Approve").click(timeout=SLOW)
    expect(page.locator(".aos-answer").last).to_contain_text("It is 49.42 hertz", timeout=SLOW)


def retried(page: Page, job: str) -> None:
    """The broken file was mended; only what failed is tried once more."""
    page.goto(job)
    page.get_by_role("button", name="Retry what failed").click(timeout=SLOW)
    expect(page.locator(".aos-badge", has_text="completed")).to_be_visible(timeout=SLOW)
    page.goto("/console/documents?search=hand-over")
    page.get_by_role("link", name=BROKEN).click(timeout=SLOW)
    expect(page.get_by_text("The night shift hands over")).to_be_visible(timeout=SLOW)


def rolled_back(page: Page, http: httpx.Client) -> None:
    """The next index is built and given to readers, then the one before again."""
    before = http.get("/api/generations").json()["live"]
    page.goto("/console/index")
    expect(page.get_by_role("heading", name=f"Generation {before}")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Build a new index").click()
    page.get_by_role("button", name="Re-index everything").click()
    until = time.monotonic() + SLOW / 1000
    while (after := http.get("/api/generations").json()["live"]) == before:
        assert time.monotonic() < until, "the next index is not given to readers"
        page.wait_for_timeout(500)
    expect(page.get_by_role("heading", name=f"Generation {after}")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Switch or go back").click()
    expect(page.locator("table.index-change")).to_be_visible(timeout=SLOW)
    page.get_by_label("I have read what changes").check(timeout=SLOW)
    page.get_by_role("button", name="Switch", exact=True).click(timeout=SLOW)
    expect(page.get_by_text("Readers use generation")).to_be_visible(timeout=SLOW)
    assert http.get("/api/generations").json()["live"] == before
