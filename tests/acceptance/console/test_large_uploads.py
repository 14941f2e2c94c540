"""A large file in a browser: cut in the middle, cut again and reloaded, it goes on and becomes one document."""

import hashlib
import os
import time
from pathlib import Path

import httpx
from playwright.sync_api import Locator, Page, Route, expect

from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot

MEBIBYTES = 30


def heavy_pdf(path: Path, bytes_: int) -> str:
    """A page of text beside a stream that nothing shows; returns the hash of the file."""
    text = b"BT /F1 24 Tf 72 700 Td (The tide table hangs at berth nine.) Tj ET"
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (bytes_, os.urandom(bytes_)),
    )
    body, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(body))
    body += b"xref\n0 %d\n0000000000 65535 f \n%s%s" % (len(objects) + 1, table, end)
    path.write_bytes(body)
    return hashlib.sha256(body).hexdigest()


class Line:
    """The line to the console's uploads, which takes so many pieces and then is cut."""

    def __init__(self, page: Page, pieces: int) -> None:
        self.left, self.begun, self.taken, self.busy = pieces, 0, 0, False
        page.route("**/console/uploads**", self._pass)

    def _pass(self, route: Route) -> None:
        method = route.request.method
        if method == "PATCH" and self.left <= 0:
            route.abort("connectionreset")
            return
        if method == "DELETE" and self.busy:
            route.fulfill(status=409, json={"title": "The upload is being put together.", "code": "upload_busy"})
            return
        if method == "PATCH":
            self.left, self.taken = self.left - 1, self.taken + 1
        self.begun += method == "POST"
        route.continue_()


def choose(page: Page, *files: Path) -> None:
    page.set_input_files("#upload input[type=file]", [str(one) for one in files])


def upload_row(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Large files").locator("li", has_text=name)


def test_a_large_file_that_is_cut_goes_on_and_becomes_one_document(
    page: Page, http: httpx.Client, seen: Seen, shot: Shot, tmp_path: Path
) -> None:
    """UP: 30 MiB, cut after 8 MiB, cut for good after 20 MiB, the page reloaded and the file chosen again."""
    large, small = tmp_path / f"tide-tables-{os.getpid()}.pdf", tmp_path / "beside-it.txt"
    digest = heavy_pdf(large, MEBIBYTES * 2**20)
    small.write_text("A small file beside a large one.")
    line = Line(page, pieces=2)
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    choose(page, large, small)
    row = upload_row(page, large.name)
    expect(row).to_contain_text("8.0 MiB of 30.0 MiB", timeout=SLOW)
    expect(row).to_contain_text("The connection is gone. It goes on in", timeout=SLOW)
    expect(page.get_by_text("The file is done")).to_be_visible(timeout=SLOW)  # the small one went its own way
    shot(page, "upload-cut")

    line.left = 1  # it goes on by itself
    expect(row).to_contain_text("12.0 MiB of 30.0 MiB", timeout=SLOW)
    row.get_by_role("button", name=f"Pause {large.name}").click()
    expect(row).to_contain_text("paused", timeout=SLOW)
    line.left = 2
    row.get_by_role("button", name=f"Resume {large.name}").click()
    expect(row).to_contain_text("20.0 MiB of 30.0 MiB", timeout=SLOW)
    expect(row).to_contain_text("It goes on in", timeout=SLOW)

    page.reload()
    row = upload_row(page, large.name)
    expect(row).to_contain_text("not finished, 20.0 MiB of 30.0 MiB", timeout=SLOW)
    expect(row).to_contain_text("Choose the same file again")
    line.left = 100
    choose(page, large)
    expect(row).to_contain_text("sent", timeout=SLOW)
    assert (line.begun, line.taken) == (1, 8), "one upload, and no piece of it twice"
    assert page.evaluate("Object.keys(localStorage).filter((one) => one.startsWith('aos-upload:')).length") == 0

    until_read(http, large.name)
    row.get_by_role("link", name="its document").click()
    expect(page.get_by_text("The tide table hangs at berth nine.")).to_be_visible(timeout=SLOW)
    listed = http.get("/api/documents/", params={"limit": 1000}).json()["items"]
    found = [one for one in listed if one["filename"] == large.name]
    assert len(found) == 1, "it is there once"
    assert http.get(f"/api/documents/{found[0]['id']}").json()["file_hash"] == digest


def until_read(http: httpx.Client, name: str) -> None:
    until = time.monotonic() + SLOW / 1000
    while [one["status"] for one in http.get("/api/documents/").json()["items"] if one["filename"] == name] != [
        "completed"
    ]:
        assert time.monotonic() < until, f"{name} is not read"
        time.sleep(0.5)


def test_an_upload_that_nobody_wants_any_more_is_discarded(page: Page, http: httpx.Client, tmp_path: Path) -> None:
    large = tmp_path / f"unwanted-{os.getpid()}.pdf"
    heavy_pdf(large, 9 * 2**20)
    Line(page, pieces=1)
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    choose(page, large)
    row = upload_row(page, large.name)
    expect(row).to_contain_text("It goes on in", timeout=SLOW)
    row.get_by_role("button", name=f"Discard {large.name}").click()
    expect(row).to_have_count(0)
    until = time.monotonic() + SLOW / 1000
    while any(one["state"] == "open" for one in _named(http, large.name)):
        assert time.monotonic() < until, "the server still waits for it"
        time.sleep(0.5)


def test_an_upload_that_is_put_together_by_now_is_not_lost_from_sight_when_it_is_discarded(
    page: Page, tmp_path: Path
) -> None:
    large = tmp_path / f"too-late-{os.getpid()}.pdf"
    heavy_pdf(large, 9 * 2**20)
    line = Line(page, pieces=1)
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    choose(page, large)
    row = upload_row(page, large.name)
    expect(row).to_contain_text("It goes on in", timeout=SLOW)
    line.busy = True
    row.get_by_role("button", name=f"Discard {large.name}").click()
    expect(row).to_contain_text("the file is being put together")
    page.reload()
    row = upload_row(page, large.name)
    expect(row).to_contain_text("not finished", timeout=SLOW)
    row.get_by_role("button", name=f"Discard {large.name}").click()
    expect(row).to_contain_text("the file is being put together")
    line.busy = False
    row.get_by_role("button", name=f"Discard {large.name}").click()
    expect(row).to_have_count(0)


def test_another_file_of_the_same_name_size_and_time_does_not_go_on_with_an_upload(page: Page, tmp_path: Path) -> None:
    large = tmp_path / f"twins-{os.getpid()}.pdf"
    line = Line(page, pieces=1)
    for begun in (1, 2):
        heavy_pdf(large, 9 * 2**20)
        os.utime(large, (1_700_000_000, 1_700_000_000))
        page.goto("/console/ingest")
        expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
        if begun == 2:
            expect(upload_row(page, large.name)).to_contain_text("not finished", timeout=SLOW)
            line.left = 1
        choose(page, large)
        expect(upload_row(page, large.name).first).to_contain_text("It goes on in", timeout=SLOW)
        assert (line.begun, line.taken) == (begun, begun)


def test_the_same_file_for_another_workspace_is_another_upload(page: Page, tmp_path: Path) -> None:
    large = tmp_path / f"moved-{os.getpid()}.pdf"
    heavy_pdf(large, 9 * 2**20)
    line = Line(page, pieces=1)
    page.goto("/console/ingest")
    expect(page.get_by_role("heading", name="Upload files")).to_be_visible(timeout=SLOW)
    choose(page, large)
    expect(upload_row(page, large.name)).to_contain_text("It goes on in", timeout=SLOW)
    page.evaluate("document.querySelector('[data-workspace]').dataset.workspace = 'another'")
    choose(page, large)
    expect(upload_row(page, large.name)).to_have_count(2)
    assert line.begun <= 2


def _named(http: httpx.Client, name: str) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = http.get("/api/uploads").json()["items"]
    return [one for one in listed if one["document_name"] == name]
