"""From the first sign-in to a page, out again, and back to where one was."""

import httpx
from playwright.sync_api import Page, expect

from tests.acceptance.console.conftest import Seen
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.looks import Shot
from tests.acceptance.console.people import FIRST, add, choose_password, sign_in


def test_first_sign_in_to_now_and_back(stranger: Page, http: httpx.Client, seen: Seen, shot: Shot) -> None:
    page, email = stranger, add(http, "newcomer@orchestrator.local", "admin")
    page.goto("/console/")
    assert "/console/sign-in" in page.url
    sign_in(page, email, FIRST)
    assert "/console/password" in page.url
    page.goto("/console/")
    assert "/console/password" in page.url, "nothing else is open before the password is changed"
    choose_password(page)
    expect(page.get_by_role("heading", name="Deployments")).to_be_visible(timeout=SLOW)
    expect(page.get_by_text("gateway Gateway")).to_be_visible()
    expect(page.get_by_text("console Console")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    shot(page, "now")
    assert seen.errors == []
    cookie = next(one for one in page.context.cookies() if one["name"] == "aos_console")
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/console")

    page.click("text=Sign out")
    assert "/console/sign-in" in page.url
    page.goto("/console/?at=here")
    assert "/console/sign-in" in page.url
    sign_in(page, email)
    assert page.url.endswith("/console/?at=here")


def test_a_wrong_password_is_told_in_the_apis_words(stranger: Page) -> None:
    sign_in(stranger, "nobody@orchestrator.local", "not the password")
    expect(stranger.get_by_role("alert")).to_contain_text("E-mail or password are not right.")


def test_nothing_is_open_to_strangers_or_other_sites(stranger: Page) -> None:
    request = stranger.context.request
    for path in ("/console/gradio_api/queue/data?session_hash=x", "/console/config", "/console/theme.css"):
        assert request.get(path).status == 401, path
    for path in ("file=https://else.example/a.png", "file/https://else.example/a.png", "proxy=https://else.example"):
        assert request.get(f"/console/gradio_api/{path}").status == 404, path
    other = request.post("/console/sign-in", form={"email": "a"}, headers={"Origin": "http://else.example"})
    assert other.status == 403
