"""The search lab and the page Index: from a question to a golden question, its run, and the index it guards."""

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import ROOT
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.places import upload

PAPERS = [ROOT / "tests" / "samples" / name for name in ("control-room.md", "turbine-maintenance.docx")]
QUESTION = "How much grease does the main bearing of the turbines take?"
SET = "lab: what the turbines need"


@pytest.fixture
def papers(http: httpx.Client) -> Iterator[httpx.Client]:
    """Two papers that can be searched, and afterwards no golden set of ours."""
    for paper in PAPERS:
        upload(http, paper)
    yield http
    for one in http.get("/api/golden-sets").json()["items"]:
        if one["name"] == SET:
            http.delete(f"/api/golden-sets/{one['id']}")


def test_a_question_is_followed_answered_kept_and_run(page: Page, papers: httpx.Client, seen: Seen, shot: Shot) -> None:
    page.goto("/console/search")
    box = page.get_by_label("Question", exact=True)
    expect(box).to_be_visible(timeout=SLOW)
    box.fill(QUESTION)
    box.press("Enter")
    expect(page.get_by_role("heading", name="Passages through the stages")).to_be_visible(timeout=SLOW)
    first = page.locator(".lab-passages > li").filter(has_text="Lubrication").first
    expect(first).to_contain_text("turbine-maintenance.docx")
    way = page.locator("a.way").filter(has=page.locator("title", has_text=re.compile(r"in the end 1$")))
    way.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/console/search[^/]*#passage-1$"))
    place = first.get_by_role("link", name="turbine-maintenance.docx, p. 1").get_attribute("href")
    assert place is not None and place.startswith("/console/documents?id=") and "page=1" in place
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    shot(page, "search-stages")

    page.get_by_role("button", name="Ask", exact=True).click()
    why = page.locator(".lab-why > li").first
    expect(why).to_be_visible(timeout=SLOW)
    expect(why.locator(".station .title")).to_have_text(["Passage [1]", "Page", "Read by", "File", "Job"])
    shot(page, "search-answer")

    page.get_by_role("tab", name="Golden questions").click()
    page.get_by_role("button", name="New golden set").click()
    page.get_by_label("Name of the new set").fill(SET)
    page.get_by_role("button", name="Make the set").click()
    expect(page.get_by_text("it is chosen now")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Save a question").click()
    expect(page.get_by_label("Golden question", exact=True)).to_have_value(QUESTION)
    page.get_by_role("checkbox", name="turbine-maintenance.docx").check()
    page.get_by_label("Right answers, one a line").fill("18 litres")
    page.get_by_role("button", name="Save as golden question").click()
    expect(page.get_by_text("The set holds 1 question now.")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Run the evaluation").click()
    expect(page.get_by_role("heading", name="Recall@10")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("cell", name=QUESTION, exact=True)).to_be_visible()
    shot(page, "search-golden")
    kept = next(one for one in papers.get("/api/golden-sets").json()["items"] if one["name"] == SET)
    (question,) = papers.get(f"/api/golden-sets/{kept['id']}/questions").json()["items"]
    assert "turbine-maintenance.docx" in question["documents"] and question["answers"] == ["18 litres"]
    (run,) = papers.get(f"/api/golden-sets/{kept['id']}/runs").json()["items"]
    assert run["state"] == "completed" and run["figures"]["recall@10"]["mean"] == 1.0
    assert seen.errors == []


def test_the_next_index_is_built_held_back_and_switched_to(
    page: Page, papers: httpx.Client, seen: Seen, shot: Shot
) -> None:
    before = papers.get("/api/generations").json()["live"]
    page.goto("/console/index")
    expect(page.get_by_role("heading", name=f"Generation {before}")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Build a new index").click()
    page.get_by_label("Hold it back").check()
    page.get_by_role("button", name="Re-index everything").click()
    expect(page.get_by_text("complete, held back")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Switch or go back").click()
    expect(page.locator("table.index-change")).to_be_visible(timeout=SLOW)
    go = page.get_by_role("button", name="Switch", exact=True)
    expect(go).to_be_disabled()
    page.get_by_label("I have read what changes").check()
    expect(go).to_be_enabled()
    go.click()
    expect(page.get_by_text("Readers use generation")).to_be_visible(timeout=SLOW)
    body = papers.get("/api/generations").json()
    assert body["live"] != before and body["previous"] == before
    shot(page, "index-generations")
    page.get_by_role("tab", name="Cache and language").click()
    expect(page.get_by_text("Near misses refused")).to_be_visible(timeout=SLOW)
    shot(page, "index-cache")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert seen.errors == []
