"""A skill is found and tried, a script is written, tried and given to an agent, and the academy is entered."""

from uuid import uuid4

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, field
from tests.acceptance.console.looks import Shot


def test_a_skill_is_found_and_tried_and_one_that_writes_is_not_offered(page: Page, seen: Seen, shot: Shot) -> None:
    page.goto("/console/skills")
    expect(page.get_by_text("1–25 of")).to_be_visible(timeout=SLOW)
    shot(page, "skills-catalogue")
    field(page, "Search").fill("arithmetic expression")
    page.get_by_role("link", name="calculator", exact=True).click(timeout=SLOW)
    page.get_by_label("expression (needed)").fill("6 * 7")
    page.get_by_role("button", name="Call it").click()
    expect(page.locator("section", has_text="What it gave")).to_contain_text("42", timeout=SLOW)
    shot(page, "skills-tried")
    page.goto("/console/skills?skill=slack_post")
    expect(page.get_by_text("It changes something.")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("button", name="Call it")).to_have_count(0)
    assert seen.errors == []


def test_a_script_is_tried_then_given_to_an_agent_then_removed(page: Page, http: httpx.Client, shot: Shot) -> None:
    name, skill = f"ag writer {uuid4().hex[:6]}", f"ag_short_{uuid4().hex[:6]}"
    agent = http.post("/api/agents", json={"name": name}).json()["id"]
    page.goto("/console/skills?tab=write")
    field(page, "Name").fill(skill, timeout=SLOW)
    field(page, "Description").fill("Cuts a text.")
    give = page.get_by_role("button", name="Give it to the agent")
    expect(give).to_have_count(0)
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("section", has_text="What it gave")).to_contain_text("A long text.", timeout=SLOW)
    assert http.get(f"/api/skills/{skill}").status_code == 404, "nothing is kept by a trial"
    field(page, "Give it to").click()
    page.get_by_role("option", name=name).click()
    give.click()
    expect(page.get_by_text("belongs to the agent from its next turn on")).to_be_visible(timeout=SLOW)
    shot(page, "skills-written")
    assert [one["name"] for one in http.get(f"/api/agents/{agent}/skills").json()["items"]] == [skill]

    page.goto(f"/console/skills?skill={skill}")
    remove = page.get_by_role("button", name="Remove this skill")
    remove.click(timeout=SLOW)
    expect(page.get_by_role("alert")).to_contain_text(name, timeout=SLOW)
    field(page, "Also take it away from the agents that have it").check()
    remove.click()
    page.wait_for_url("**/console/skills", timeout=SLOW)
    assert http.get(f"/api/skills/{skill}").status_code == 404
    http.delete(f"/api/agents/{agent}")


def test_an_agent_is_enrolled_and_told_what_keeps_it_from_its_examination(
    page: Page, http: httpx.Client, shot: Shot
) -> None:
    agent = http.post("/api/agents", json={"name": f"ag pupil {uuid4().hex[:6]}"}).json()["id"]
    page.goto(f"/console/skills?tab=academy&agent={agent}")
    expect(page.get_by_text("This agent is not enrolled.")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Enrol").click()
    expect(page.get_by_text("References read")).to_be_visible(timeout=SLOW)
    assert http.get(f"/api/agents/{agent}/academy").json()["track"] == "presales"
    shot(page, "skills-academy")
    page.get_by_role("button", name="Examine now").click()
    expect(page.get_by_role("alert")).to_contain_text("What to try", timeout=SLOW)
    http.delete(f"/api/agents/{agent}")
