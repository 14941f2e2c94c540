"""Ingest in a browser: upload several files, of which one is refused; a dry run, the scan, its job and its failures."""

import time
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.acceptance.conftest import Product
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot


def test_several_files_are_uploaded_each_with_its_end(page: Page, seen: Seen, shot: Shot, tmp_path: Path) -> None:
    note, broken, empty = (tmp_path / name for name in ("console-note.txt", "broken.docx", "empty.txt"))
    note.write_text(f"The lift is inspected in June. {time.time_ns()}")
    broken.write_bytes(b"\x00\x01 not a document")
    empty.write_bytes(b"")
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    shot(page, "ingest")
    page.set_input_files("#upload input[type=file]", [str(one) for one in (note, broken, empty)])
    expect(page.get_by_text("All 3 files are done")).to_be_visible(timeout=SLOW)
    line = page.locator("tr", has_text="console-note.txt").first
    expect(line).to_contain_text("completed")
    expect(line).to_contain_text("1 of 1")
    for name in ("broken.docx", "empty.txt"):
        expect(page.locator("tr", has_text=name).first).to_contain_text("refused")
    shot(page, "uploaded")
    page.get_by_role("link", name="console-note.txt", exact=True).click()
    expect(page.get_by_text("The lift is inspected in June.")).to_be_visible(timeout=SLOW)


def test_one_file_that_is_too_large_is_named_and_the_others_are_sent(
    page: Page, product: Product, seen: Seen, tmp_path: Path
) -> None:
    large, first, second = (tmp_path / name for name in ("far-too-large.csv", "small-one.txt", "small-two.txt"))
    with large.open("wb") as file:  # it holds nothing, and takes no room
        file.truncate(min(product.settings.uploads.max_bytes, product.settings.read.max_file_bytes) + 1)
    first.write_text(f"The first small file. {time.time_ns()}")
    second.write_text(f"The second small file. {time.time_ns()}")
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    page.set_input_files("#upload input[type=file]", [str(one) for one in (first, large, second)])
    told = page.get_by_role("status").filter(has_text="far-too-large.csv")
    expect(told).to_contain_text("is larger than 2.0 GiB and was not sent")
    expect(page.get_by_text("All 2 files are done")).to_be_visible(timeout=SLOW)
    for name in ("small-one.txt", "small-two.txt"):
        expect(page.locator("tr", has_text=name).first).to_contain_text("completed")


def test_a_folder_is_estimated_scanned_and_its_failures_explained(page: Page, product: Product, shot: Shot) -> None:
    folder = Path(product.settings.read.nfs_base_path or "") / "console-scan"
    folder.mkdir(exist_ok=True)
    (folder / "pages.txt").write_text("\f".join(f"Page {n} of the console's scan." for n in range(1, 6)))
    (folder / "nothing.pdf").write_bytes(b"")
    page.goto("/console/ingest")
    page.get_by_role("button", name="console-scan/").click(timeout=SLOW)
    expect(page.get_by_label("Folder or file")).to_have_value("console-scan", timeout=SLOW)
    page.get_by_role("button", name="Estimate first").focus()
    page.keyboard.press("Enter")
    told = page.get_by_role("status").filter(has_text="nothing was started")
    expect(told).to_contain_text("Cannot be read: 1 empty", timeout=SLOW)
    shot(page, "estimate")
    page.get_by_role("button", name="Start this scan").click()
    page.get_by_role("link", name="follow the job").click(timeout=SLOW)
    expect(page.get_by_role("heading", name=f"Scan of {folder}")).to_be_visible(timeout=SLOW)
    expect(page.locator(".aos-heading .aos-badge", has_text="partial")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("Nothing in it")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("button", name="Retry what failed")).to_be_visible()
    shot(page, "job")
