"""Chat Studio and Runs in a browser: asked, answered with sources, decided, judged, and found again as a run."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.conftest import PASSWORD, ROOT, Product
from tests.acceptance.conversation import gauge
from tests.acceptance.test_conversation import dutiful, scripted
from tests.console.conftest import Seen

SLOW = 60_000
PAPER = ROOT / "tests/samples/control-room.md"
QUESTION = "What must be done when the grid frequency falls below 49.5 hertz?"


@pytest.fixture
def api(product: Product, page: Page) -> Iterator[httpx.Client]:
    """The API as the administrator has it, with a paper to ask about."""
    base = f"http://127.0.0.1:{product.settings.http.port}"
    with httpx.Client(base_url=base, timeout=90) as client:
        sent = {"email": product.settings.auth.admin_email, "password": PASSWORD}
        client.headers["Authorization"] = f"Bearer {client.post('/api/auth/login', json=sent).json()['access_token']}"
        files = {"file": (PAPER.name, PAPER.read_bytes())}
        client.post("/api/documents/upload", params={"wait": 60}, files=files).raise_for_status()
        yield client


def errors(seen: Seen) -> list[str]:
    """What went wrong in the browser; that a page was left while something of it was under way is not."""
    return [one for one in seen.errors if "AbortError" not in one and "Connection errored out" not in one]


def ask(page: Page, words: str) -> None:
    """By keyboard, in a new conversation."""
    page.goto("/console/chat")
    expect(page.get_by_label("Agent").first).to_have_value("assistant", timeout=SLOW)
    box = page.get_by_placeholder("Ask something")
    box.fill(words)
    box.press("Enter")


def test_without_a_model_the_documents_answer_and_the_conversation_is_kept(
    page: Page, api: httpx.Client, seen: Seen, shot: Callable[[Page, str], None]
) -> None:
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
    assert errors(seen) == []


def test_a_person_allows_what_an_agent_wants_and_the_answer_goes_on(
    page: Page, api: httpx.Client, product: Product, seen: Seen, shot: Callable[[Page, str], None]
) -> None:
    (host,) = product.settings.agents.http_allow
    with scripted(api, dutiful), gauge(int(host.rpartition(":")[2])):
        ask(page, f"Read http://{host}/wrong with http_get. What is the grid frequency there, and what must be done?")
        approve = page.get_by_role("button", name="Approve")
        expect(approve).to_be_visible(timeout=SLOW)
        expect(page.get_by_text("http_get waits for a person")).to_be_visible()
        shot(page, "approval")
        page.goto("/console/runs?state=waiting_approval")
        expect(page.get_by_text("1 waiting")).to_be_visible(timeout=SLOW)
        page.get_by_label("url").fill(f"http://{host}/gauge")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("Nothing waits for a person.")).to_be_visible(timeout=SLOW)
        page.goto("/console/runs")
        page.locator(".aos-table tbody a").first.click()
        expect(page.locator(".aos-answer")).to_contain_text("It is 49.42 hertz", timeout=SLOW)
        (decided,) = api.get("/api/approvals", params={"state": "approved"}).json()["items"][-1:]
        assert decided["decided_arguments"] == {"url": f"http://{host}/gauge"}, "as it was edited"
    assert errors(seen) == []
