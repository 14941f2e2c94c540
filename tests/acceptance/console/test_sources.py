"""Sources in a browser: tried before one is there, added, synchronised; removals kept and let go."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.conftest import Product
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.people import sign_in, viewer
from tests.acceptance.console.test_system import opened, said

ENDS = ("completed", "partial", "failed", "cancelled")


def follow(http: httpx.Client, source: str) -> dict[str, Any]:
    """The source once its job is over."""
    until = time.monotonic() + SLOW / 1000
    while True:
        found: dict[str, Any] = http.get(f"/api/sources/{source}").raise_for_status().json()
        if found["job_state"] in ENDS:
            return found
        assert time.monotonic() < until, "the sync does not end"
        time.sleep(0.5)


def fact(shown: Locator, name: str) -> Locator:
    return shown.locator(".aos-facts > div", has_text=name).first.locator("dd")


def test_a_source_is_tried_added_synchronised_and_removed(
    page: Page, http: httpx.Client, product: Product, shot: Shot
) -> None:
    folder = Path(product.settings.read.nfs_base_path or "") / f"shelf-{time.time_ns()}"
    folder.mkdir()
    for name in ("ropes", "sails", "masts"):
        (folder / f"{name}.txt").write_text(f"Of {name} there are enough. {folder.name}")
    shown = opened(page, "sources")
    page.get_by_role("link", name="Add a source").first.click()
    page.get_by_role("link", name="Folder").click(timeout=SLOW)
    field = page.get_by_label("Path")
    field.fill("there-is-none", timeout=SLOW)
    page.get_by_role("button", name="Test").click()
    expect(said(page)).to_contain_text("there is no folder", timeout=SLOW)
    expect(field).to_have_value("there-is-none")
    field.fill(folder.name)
    page.get_by_role("button", name="Test").click()
    expect(said(page)).to_contain_text("It answers. Its first items:masts.txt", timeout=SLOW)
    page.get_by_label("Who may see it").fill(f"user:{product.settings.auth.admin_email}")
    page.get_by_role("button", name="Dry run").click()
    expect(said(page)).to_contain_text("3 items", timeout=SLOW)
    expect(said(page)).to_contain_text("Nothing was stored")
    expect(field).to_have_value(folder.name)
    assert not [one for one in http.get("/api/sources").json()["items"] if one["name"] == folder.name]

    page.get_by_label("Name", exact=True).fill(folder.name)
    page.get_by_label("paused at first").check()
    shot(page, "source-new")
    page.get_by_role("button", name="Add it").click()
    expect(said(page)).to_contain_text("is added", timeout=SLOW)
    (source,) = [one["id"] for one in http.get("/api/sources").json()["items"] if one["name"] == folder.name]
    expect(fact(shown, "State")).to_have_text("paused", timeout=SLOW)
    page.get_by_role("button", name="Sync now").click()
    expect(said(page)).to_contain_text("The sync has begun", timeout=SLOW)
    assert follow(http, source)["items"] == 3
    page.get_by_role("link", name="Refresh").click()
    expect(fact(shown, "Documents")).to_have_text("3", timeout=SLOW)
    expect(shown.get_by_text("3 items listed, 3 added")).to_be_visible()
    expect(shown.get_by_role("link", name="masts.txt")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(fact(shown, "Next sync")).not_to_have_text("paused", timeout=SLOW)
    follow(http, source)

    for name in ("ropes", "sails"):
        (folder / f"{name}.txt").unlink()
    sync_and_show(page, http, source)
    expect(page.get_by_role("heading", name="2 documents would leave, and wait for you")).to_be_visible(timeout=SLOW)
    expect(shown.get_by_text("More documents are gone at once")).to_be_visible()
    shot(page, "source-waits")
    page.get_by_text("Keep them …").click()
    page.get_by_role("button", name="Keep 2 documents").click()
    expect(said(page)).to_contain_text("They stay", timeout=SLOW)
    expect(page.get_by_role("heading", name="2 documents would leave")).to_have_count(0)
    sync_and_show(page, http, source)
    page.get_by_text("Let them leave …").click(timeout=SLOW)
    page.get_by_role("button", name="Let 2 documents leave").click()
    expect(said(page)).to_contain_text("They leave", timeout=SLOW)
    assert follow(http, source)["items"] == 1
    page.get_by_text("Change it …").click()
    page.get_by_label("Synchronise every").fill("")
    page.get_by_role("button", name="Save it").click()
    expect(said(page)).to_contain_text("is changed", timeout=SLOW)
    expect(fact(shown, "Synchronised")).to_have_text("only when asked", timeout=SLOW)
    page.get_by_text("Remove with its documents …").click()
    page.get_by_role("button", name="Delete all").click()
    expect(said(page)).to_contain_text("is deleted with its documents", timeout=SLOW)


def sync_and_show(page: Page, http: httpx.Client, source: str) -> None:
    http.post(f"/api/sources/{source}/sync").raise_for_status()
    follow(http, source)
    page.goto(f"/console/system?part=sources&id={source}")


def test_a_viewer_sees_no_sources(window: Callable[[], Page], http: httpx.Client) -> None:
    email = f"no-sources-{time.time_ns()}@orchestrator.local"
    viewer(http, email)
    page = window()
    sign_in(page, email)
    page.goto("/console/system?part=sources")
    expect(page.get_by_role("heading", name="System")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("link", name="Sources")).to_have_count(0)
    expect(page.locator("[data-part=sources]")).to_have_count(0)
