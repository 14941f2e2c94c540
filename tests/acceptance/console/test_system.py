"""The page System in a browser: each part in use, what each role sees, and that nothing of a secret comes back."""

from collections.abc import Callable
from pathlib import Path

import httpx
from playwright.sync_api import Locator, Page, expect

from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW, kept
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.people import sign_in, viewer
from tests.acceptance.console.places import upload

ROLLED = 300_000  # a replica loads its model before the old one goes
TABS = ("Configuration", "Models", "People", "API keys", "Credentials", "Schedules", "Audit", "Workspaces")


def opened(page: Page, part: str) -> Locator:
    """A part of System, once it is there."""
    page.goto(f"/console/system?part={part}")
    shown = page.locator(f"[data-part={part}]")
    expect(shown).to_be_visible(timeout=SLOW)
    return shown


def said(page: Page) -> Locator:
    """What an act led to."""
    return page.locator(".aos-said")


def test_ad_01_to_04_settings_are_searched_changed_refused_and_saved(page: Page, seen: Seen, shot: Shot) -> None:
    shown = opened(page, "config")
    for colour, title in (
        ("blue", "App server"),
        ("green", "Database"),
        ("amber", "Worker and models"),
        ("purple", "Storage"),
    ):
        expect(shown.locator(f".aos-group.{colour} h2")).to_have_text(title)
    shot(page, "system-config")
    box = page.get_by_label("Search the other settings")
    box.fill("bm25 nonsense")
    expect(shown.get_by_text("No setting is called like this.")).to_be_visible()
    box.fill("search k1")
    field = shown.locator("[name='search.k1']")
    expect(field).to_be_visible()
    expect(shown.locator("[name='search.b']")).to_be_hidden()

    save = page.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_disabled()
    field.fill("steep")
    expect(shown.locator(".aos-field.changed")).to_have_count(1)
    expect(shown.get_by_text("1 change is not saved.")).to_be_visible()
    field.press("Enter")
    expect(shown.locator("[data-error='search.k1']")).to_contain_text("number", timeout=SLOW)
    expect(field).to_be_focused()
    expect(field).to_have_value("steep")

    field.fill("1.4")
    field.press("Enter")
    expect(said(page)).to_contain_text("Saved", timeout=SLOW)
    expect(said(page)).to_contain_text("Live within seconds (gateway).")
    expect(field).to_have_value("1.4")
    page.get_by_label("Search the other settings").fill("search k1")
    page.get_by_role("button", name="Take back").click()
    expect(field).not_to_have_value("1.4", timeout=SLOW)
    refused = [one for one in seen.errors if "422" not in one]
    assert refused == []


def test_ad_02_secrets_are_bullets_and_the_address_leads_to_the_part(page: Page) -> None:
    shown = opened(page, "config")
    field = shown.locator("[name='llm.api_key']")
    field.fill("sk-a-key-of-a-test")
    field.press("Enter")
    expect(said(page)).to_contain_text("Needs a restart of", timeout=SLOW)
    expect(field).to_have_value("•" * 8)
    expect(page.get_by_role("heading", name="Waiting for a restart")).to_be_visible()
    assert "sk-a-key-of-a-test" not in page.content()
    shown.locator("button[data-forget='llm.api_key']").click()
    expect(field).to_have_value("", timeout=SLOW)


def test_ad_06_a_part_is_restarted_and_its_progress_is_told(page: Page, shot: Shot) -> None:
    shown = opened(page, "config")
    shown.get_by_text("Restart a part").click()
    page.get_by_label("Part", exact=True).select_option("reranker")
    page.get_by_role("button", name="Restart it").click()
    expect(said(page)).to_contain_text("reranker: replica by replica", timeout=SLOW)
    latest = page.get_by_role("row").filter(has_text="reranker").first
    expect(latest).to_be_visible(timeout=SLOW)
    shot(page, "system-restart")
    expect(latest).to_contain_text("took", timeout=ROLLED)


def test_a_person_is_added_signs_in_and_is_disabled(page: Page, window: Callable[[], Page], shot: Shot) -> None:
    opened(page, "people")
    page.get_by_role("link", name="Add somebody").click()
    box = page.get_by_label("E-mail")
    kept(box, lambda: box.fill("not an address"), lambda: box.input_value() == "not an address")
    page.get_by_role("button", name="Add", exact=True).click()
    assert page.get_by_label("E-mail").evaluate("field => field.validity.typeMismatch"), "it is not even sent"
    page.get_by_label("E-mail").fill("system-test@orchestrator.local")
    page.get_by_label("E-mail").press("Enter")
    expect(said(page)).to_contain_text("First password of system-test@orchestrator.local", timeout=SLOW)
    first = said(page).locator("code").inner_text()
    assert len(first) >= 12
    page.wait_for_url("**?part=people", timeout=SLOW)
    shot(page, "system-people")

    other = window()
    sign_in(other, "system-test@orchestrator.local", first)
    assert "/console/password" in other.url

    page.get_by_role("link", name="system-test@orchestrator.local").click()
    expect(said(page)).to_have_count(0)
    page.get_by_text("Disable …").click()
    page.get_by_role("button", name="Disable", exact=True).click()
    expect(said(page)).to_contain_text("disabled", timeout=SLOW)
    expect(page.get_by_role("button", name="Let them sign in again")).to_be_visible()


def test_an_erasure_shows_what_would_go_and_wants_a_word_before_it_goes(
    page: Page, http: httpx.Client, shot: Shot, tmp_path: Path
) -> None:
    (note := tmp_path / "erase-me.txt").write_text("The lighthouse of Erasure Point is painted violet.")
    document = upload(http, note)
    opened(page, "erasures")
    page.get_by_role("link", name="Erase something").click()
    box = page.get_by_label("Which")
    address = f"/console/documents?id={document}"
    kept(box, lambda: box.fill(address), lambda: box.input_value() == address)
    page.get_by_label("Why").fill("a request of 2026")
    page.get_by_role("button", name="Show what would go").click()
    expect(page.get_by_text("Nothing was erased yet.").first).to_be_visible(timeout=SLOW)
    page.wait_for_url("**?part=erasures&kind=document*", timeout=SLOW)
    expect(page.get_by_role("heading", name="This would go")).to_be_visible(timeout=SLOW)
    shot(page, "system-erasure")
    word = page.get_by_label("Type erase to be sure")
    kept(word, lambda: word.fill("no"), lambda: word.input_value() == "no")
    page.get_by_role("button", name="Erase it for good").click()
    expect(said(page)).to_contain_text("Nothing was erased.", timeout=SLOW)
    assert http.get(f"/api/documents/{document}").status_code == 200
    page.get_by_label("Type erase to be sure").fill("erase")
    page.get_by_role("button", name="Erase it for good").click()
    expect(said(page)).to_contain_text("It is erased", timeout=SLOW)
    expect(page.get_by_text("Signed with key")).to_be_visible(timeout=SLOW)
    assert http.get(f"/api/documents/{document}").status_code == 404


def test_retention_shows_what_another_period_would_delete_before_it_is_set(page: Page, shot: Shot) -> None:
    shown = opened(page, "retention")
    row = shown.get_by_role("row").filter(has_text="answers")
    row.get_by_role("link", name="Change …").click()
    box = page.get_by_label("Days")
    kept(box, lambda: box.fill("soon"), lambda: box.input_value() == "soon")
    page.get_by_role("button", name="Show what it would do").click()
    expect(said(page)).to_contain_text("This is no period.", timeout=SLOW)
    page.get_by_label("Days").fill("30000")
    page.get_by_role("button", name="Show what it would do").click()
    expect(page.get_by_text("Nothing would be due now.")).to_be_visible(timeout=SLOW)
    shot(page, "system-retention")
    page.get_by_role("button", name="Set it").click()
    expect(said(page)).to_contain_text("The rule for answers holds.", timeout=SLOW)
    expect(page.get_by_role("row").filter(has_text="answers")).to_contain_text("30,000 days", timeout=SLOW)
    page.get_by_role("row").filter(has_text="answers").get_by_role("link", name="Change …").click()
    box = page.get_by_label("Days")
    kept(box, lambda: box.fill("inherit"), lambda: box.input_value() == "inherit")
    page.get_by_role("button", name="Show what it would do").click()
    page.get_by_role("button", name="Set it").click(timeout=SLOW)
    expect(page.get_by_role("row").filter(has_text="answers")).to_contain_text("for good", timeout=SLOW)


def test_where_no_provider_is_declared_the_part_sign_in_says_how_one_is(page: Page) -> None:
    expect(opened(page, "sign-in")).to_contain_text("AOS_AUTH_PROVIDERS_FILE", timeout=SLOW)


def test_a_group_is_made_filled_emptied_and_deleted(page: Page, shot: Shot) -> None:
    opened(page, "groups")
    page.get_by_role("link", name="Make a group").click()
    page.get_by_label("Name", exact=True).fill("Harbour Crew")
    page.get_by_role("button", name="Make it").click()
    expect(said(page)).to_contain_text("harbour crew is there", timeout=SLOW)
    page.wait_for_url("**?part=groups&group=*", timeout=SLOW)
    page.get_by_label("E-mail").fill("nobody@nowhere.example")
    page.get_by_role("button", name="Add to the group").click()
    expect(said(page)).to_contain_text("This person is not here", timeout=SLOW)
    box = page.get_by_label("E-mail")
    kept(box, lambda: box.fill("Admin@orchestrator.local"), lambda: box.input_value().startswith("Admin@"))
    page.get_by_role("button", name="Add to the group").click()
    expect(said(page)).to_contain_text("admin@orchestrator.local belongs to harbour crew", timeout=SLOW)
    shot(page, "system-groups")
    page.get_by_text("Remove …").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(said(page)).to_contain_text("does not belong to harbour crew any more", timeout=SLOW)
    page.get_by_text("Delete the group …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(said(page)).to_contain_text("harbour crew is deleted", timeout=SLOW)


def test_an_api_key_is_shown_once_and_revoked(page: Page, seen: Seen) -> None:
    opened(page, "keys")
    page.get_by_label("Name", exact=True).fill("robot of the test")
    page.get_by_role("button", name="Make the key").click()
    expect(said(page)).to_contain_text("API key robot of the test", timeout=SLOW)
    key = said(page).locator("code").first.inner_text()
    asked = page.context.request.get("/api/agents", headers={"Authorization": f"Bearer {key}"})
    assert asked.status == 200
    row = page.get_by_role("row").filter(has_text="robot of the test")
    row.get_by_text("Revoke …").click()
    row.get_by_role("button", name="Revoke", exact=True).click()
    expect(said(page)).to_contain_text("is ended", timeout=SLOW)
    asked = page.context.request.get("/api/agents", headers={"Authorization": f"Bearer {key}"})
    assert asked.status == 401
    assert key not in page.content()


def test_a_connection_that_does_not_answer_says_what_to_try(page: Page, shot: Shot) -> None:
    opened(page, "models")
    page.get_by_role("link", name="Add a connection").click()
    page.get_by_role("link", name="Ollama").click()
    page.get_by_label("Name", exact=True).fill("nobody there")
    page.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    page.get_by_label("Model", exact=True).fill("none")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(said(page)).to_contain_text("nobody there is added.", timeout=SLOW)
    expect(said(page)).to_contain_text("What to try: Is the server running")
    shot(page, "system-model")
    page.get_by_text("Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(said(page)).to_contain_text("is deleted", timeout=SLOW)


def test_a_credential_is_sealed_bound_and_deleted(page: Page, shot: Shot) -> None:
    opened(page, "credentials")
    page.get_by_role("link", name="Add a credential").click()
    page.get_by_role("link", name="User and password").click()
    page.get_by_label("Name", exact=True).fill("login of the test")
    page.get_by_label("Username").fill("somebody")
    page.get_by_label("Password").fill("not-to-be-seen")
    page.get_by_role("button", name="Seal and store").click()
    expect(said(page)).to_contain_text("is sealed and stored", timeout=SLOW)
    assert "not-to-be-seen" not in page.content()
    expect(page.get_by_text("Nobody may use it yet.")).to_be_visible()
    page.get_by_label("Role of who asks").select_option("operator")
    page.get_by_role("button", name="Bind", exact=True).click()
    expect(page.get_by_role("cell", name="operator")).to_be_visible(timeout=SLOW)
    shot(page, "system-credential")
    page.get_by_text("Delete …").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(said(page)).to_contain_text("is deleted", timeout=SLOW)


def test_a_schedule_is_made_paused_run_and_found_in_the_trail(page: Page, shot: Shot) -> None:
    opened(page, "schedules")
    page.get_by_role("link", name="Add a schedule").click()
    page.get_by_label("Name", exact=True).fill("report of the test")
    page.get_by_label("When").fill("0 2 * * *")
    page.get_by_label("Message to the agent").fill("Say what is new.")
    expect(page.get_by_label("Time zone")).not_to_have_value("")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(said(page)).to_contain_text("report of the test is due", timeout=SLOW)
    page.get_by_role("button", name="Pause").click()
    expect(said(page)).to_contain_text("is paused", timeout=SLOW)
    page.get_by_role("button", name="Run now").click()
    expect(said(page)).to_contain_text("is due now", timeout=SLOW)
    shot(page, "system-schedule")

    trail = opened(page, "audit")
    page.get_by_label("Did what").fill("schedule")
    page.get_by_role("button", name="Show").click()
    expect(trail.get_by_role("cell", name="schedule.add").first).to_be_visible(timeout=SLOW)
    expect(trail.get_by_role("cell", name="session.begin")).to_have_count(0)
    assert "action=schedule" in page.url
    page.get_by_role("link", name="Check the whole chain").click()
    expect(page.get_by_text("The chain is intact; checked: all")).to_be_visible(timeout=SLOW)
    shot(page, "system-audit")
    page.go_back()
    expect(page.get_by_text("the entries on this page")).to_be_visible(timeout=SLOW)


def test_a_viewer_sees_its_parts_and_a_forged_form_gets_the_apis_refusal(stranger: Page, http: httpx.Client) -> None:
    page, email = stranger, "system-viewer@orchestrator.local"
    viewer(http, email)
    sign_in(page, email)
    page.goto("/console/system?part=config")
    tabs = page.locator(".aos-tabs a")
    expect(tabs).to_have_text(["Schedules", "Workspaces"], timeout=SLOW)
    expect(page.get_by_role("link", name="Add a schedule")).to_have_count(0)
    opened(page, "tenants")
    expect(page.get_by_role("button", name="Make the workspace")).to_have_count(0)
    # What the browser sends can be forged: the act is one of a part that a viewer has, the right is not there.
    page.locator("[data-part]").evaluate(
        """(place) => {
            const form = document.createElement("form");
            form.dataset.act = "tenants.workspace";
            form.innerHTML = '<input name="name" value="forged"><button>go</button>';
            place.append(form);
            form.requestSubmit();
        }"""
    )
    expect(said(page)).to_contain_text("403", timeout=SLOW)


def test_every_part_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 860})
    opened(page, "config")
    for title in TABS:
        tab = page.locator(".aos-tabs").get_by_role("link", name=title)
        tab.focus()
        page.keyboard.press("Enter")
        expect(tab).to_have_attribute("aria-current", "page", timeout=SLOW)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, title
