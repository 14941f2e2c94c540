"""An agent is made, given a prompt, skills and documents, its rules are read, and it is deleted again."""

from uuid import uuid4

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, field, ticked
from tests.acceptance.console.looks import Shot


def test_an_agent_is_made_changed_equipped_and_deleted(page: Page, http: httpx.Client, seen: Seen, shot: Shot) -> None:
    name = f"ag pilot {uuid4().hex[:6]}"
    page.goto("/console/agents")
    page.get_by_role("link", name="New agent").click()
    field(page, "Name").fill(name)
    field(page, "Prompt").fill("You bring ships in.")
    page.get_by_role("button", name="Make the agent").click()
    page.wait_for_url("**/console/agents?id=*", timeout=SLOW)
    expect(page.get_by_role("heading", name=name)).to_be_visible(timeout=SLOW)
    agent = page.url.rpartition("=")[2]

    description = field(page, "Description")
    expect(field(page, "Prompt")).to_have_value("You bring ships in.", timeout=SLOW)
    description.fill("Knows the harbour.")
    page.get_by_role("button", name="Save what changed").click()
    expect(page.get_by_text("Saved: description.")).to_be_visible(timeout=SLOW)
    body = http.get(f"/api/agents/{agent}").json()
    assert (body["description"], body["system_prompt"], body["config"]) == (
        "Knows the harbour.",
        "You bring ships in.",
        {},
    )
    shot(page, "agents-instructions")

    page.get_by_role("tab", name="Planning and tools").click()
    field(page, "Rounds").fill("99")
    page.get_by_role("button", name="Save what changed").click()
    expect(page.locator(".aos-wrong")).to_contain_text("less than or equal to 50", timeout=SLOW)
    assert http.get(f"/api/agents/{agent}").json()["config"] == {}

    page.get_by_role("tab", name="Skills").click()
    field(page, "Search").fill("slack")
    field(page, "slack_post").check()
    page.get_by_role("button", name="Give it the chosen skills").click()
    expect(page.get_by_text("slack_post: given.")).to_be_visible(timeout=SLOW)
    held = http.get(f"/api/agents/{agent}/skills").json()["items"]
    assert [one["name"] for one in held] == ["slack_post"]
    shot(page, "agents-skills")

    page.get_by_role("tab", name="Approvals").click()
    row = page.locator("tr:visible", has_text="slack_post")
    expect(row).to_contain_text("asks a person", timeout=SLOW)
    shot(page, "agents-approvals")

    page.get_by_role("tab", name="Delete").click()
    field(page, "Its name, to be sure").fill("somebody else")
    page.get_by_role("button", name="Delete this agent").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not its name.", timeout=SLOW)
    field(page, "Its name, to be sure").fill(name)
    page.get_by_role("button", name="Delete this agent").click()
    page.wait_for_url("**/console/agents", timeout=SLOW)
    assert http.get(f"/api/agents/{agent}").status_code == 404
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible(timeout=SLOW)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert [one for one in seen.errors if "404" not in one] == []


def test_documents_are_linked_and_unlinked(page: Page, http: httpx.Client) -> None:
    name = f"ag-tide-{uuid4().hex[:6]}.txt"
    sent = http.post("/api/documents/upload", files={"file": (name, b"The spring tide stands at 7.3 metres.")})
    assert sent.status_code in (200, 202), sent.text
    agent = http.post("/api/agents", json={"name": f"ag reader {uuid4().hex[:6]}"}).json()["id"]
    page.goto(f"/console/agents?id={agent}&tab=documents")
    page.get_by_label("Search by name").nth(1).fill(name)
    ticked(page.get_by_label(name).first)
    page.get_by_role("button", name="Link the chosen", exact=True).click()
    expect(page.get_by_text("1 linked.")).to_be_visible(timeout=SLOW)
    assert http.get(f"/api/agents/{agent}").json()["documents"] == 1
    ticked(page.get_by_label(name).first)
    page.get_by_role("button", name="Unlink the chosen").click()
    expect(page.get_by_text("1 unlinked.")).to_be_visible(timeout=SLOW)
    assert http.get(f"/api/agents/{agent}").json()["documents"] == 0
    http.delete(f"/api/agents/{agent}")
