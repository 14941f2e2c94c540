"""Chat Studio and Runs in a browser: asked, answered with sources, decided, judged, and found again as a run."""

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import Product
from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, ask
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.modelled import modelled
from tests.acceptance.console.places import PAPER, upload

QUESTION = "What must be done when the grid frequency falls below 49.5 hertz?"


def test_without_a_model_the_documents_answer_and_the_conversation_is_kept(
    page: Page, http: httpx.Client, seen: Seen, shot: Shot
) -> None:
    upload(http, PAPER)
    ask(page, QUESTION)
    chip = page.locator("a.aos-chip").first
    expect(chip).to_contain_text("control-room.md, page 1", timeout=SLOW)
    expect(page.locator(".aos-answer")).to_contain_text("start the gas generator at Harrow Mill")
    expect(page.get_by_text("No language model is connected")).to_be_visible()
    where = str(chip.get_attribute("href"))
    assert where.startswith("/console/documents?id=") and "&page=1&" in where and "&start=" in where
    assert chip.get_attribute("target") == "_blank"
    page.get_by_placeholder("Why? (optional)").fill("right to the point")
    page.get_by_role("button", name="Good answer").click()
    expect(page.get_by_text("it stands beside this run")).to_be_visible(timeout=SLOW)
    shot(page, "chat")
    assert "session=" in page.url
    page.reload()
    expect(page.locator("a.aos-chip").first).to_be_visible(timeout=SLOW)
    page.get_by_role("link", name="Everything that happened").last.click()
    expect(page.locator(".aos-waterfall .step").first).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("right to the point")).to_be_visible()
    page.get_by_role("button", name="Replay it").click()
    expect(page.get_by_text("byte for byte")).to_be_visible(timeout=SLOW)
    shot(page, "run")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert seen.errors == []


def test_a_person_allows_what_an_agent_wants_and_the_answer_goes_on(
    page: Page, http: httpx.Client, product: Product, seen: Seen, shot: Shot
) -> None:
    upload(http, PAPER)
    with modelled(http, product) as host:
        ask(page, f"Read http://{host}/wrong with http_get. What is the grid frequency there, and what must be done?")
        approve = page.get_by_role("button", name="Approve")
        expect(approve).to_be_visible(timeout=SLOW)
        expect(page.get_by_text("http_get waits for a person")).to_be_visible()
        shot(page, "approval")
        waiting = http.get("/api/approvals", params={"state": "pending"}).json()["items"]
        (asked,) = [one for one in waiting if one["arguments"] == {"url": f"http://{host}/wrong"}]
        page.goto(f"/console/runs?state=waiting_approval&approval={asked['id']}")
        expect(page.get_by_text(f"{len(waiting)} waiting")).to_be_visible(timeout=SLOW)
        page.get_by_label("url").fill(f"http://{host}/gauge")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Decided; the run goes on by itself.")).to_be_visible(timeout=SLOW)
        page.goto("/console/runs")
        page.locator(f".aos-table tbody a[href*='{asked['run_id']}']").click(timeout=SLOW)
        expect(page.locator(".aos-answer")).to_contain_text("It is 49.42 hertz", timeout=SLOW)
        decided = http.get(f"/api/approvals/{asked['id']}").json()
        assert decided["decided_arguments"] == {"url": f"http://{host}/gauge"}, "as it was edited"
    assert seen.errors == []
