"""People of the tests: added through the API, signed in through it or at the door, and offices of their own."""

from typing import Final

import httpx
from playwright.sync_api import Page

from tests.acceptance.conftest import PASSWORD

FIRST: Final = "a first phrase 31"


def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    """Fill in the door's form; it stands at /console/sign-in or where one was sent there."""
    if "/sign-in" not in page.url:
        page.goto("/console/sign-in")
    page.fill("[name=email]", email)
    page.fill("[name=password]", password)
    page.click("button")


def choose_password(page: Page, old: str = FIRST, new: str = PASSWORD) -> None:
    """Fill in the form that stands before everything else after a first sign-in."""
    page.fill("[name=old]", old)
    for name in ("new", "again"):
        page.fill(f"[name={name}]", new)
    page.click("button")


def add(http: httpx.Client, email: str, role: str) -> str:
    """Somebody in the administrator's workspace who has to choose a password yet; returns the e-mail."""
    http.post("/api/users", json={"email": email, "password": FIRST, "role": role}).raise_for_status()
    return email


def viewer(http: httpx.Client, email: str) -> httpx.Client:
    """A Viewer of that workspace, signed in at the API with `PASSWORD`."""
    return _settled(http, add(http, email, "viewer"))


def office(http: httpx.Client, name: str) -> str:
    """A tenant of its own; returns the e-mail of its administrator, who has `PASSWORD`."""
    email = f"{name}@{name}.example"
    made = http.post("/api/tenants", json={"name": name, "admin_email": email, "password": FIRST})
    assert made.status_code == 201, made.text
    _settled(http, email)
    return email


def _settled(http: httpx.Client, email: str) -> httpx.Client:
    """Whose first password is changed; a client that nothing was asked with yet."""
    with httpx.Client(base_url=http.base_url, timeout=90) as door:
        for password in (FIRST, PASSWORD):
            login = door.post("/api/auth/login", json={"email": email, "password": password}).raise_for_status()
            bearing = {"Authorization": f"Bearer {login.json()['access_token']}"}
            if password == FIRST:
                change = {"current_password": FIRST, "new_password": PASSWORD}
                door.post("/api/auth/password", json=change, headers=bearing).raise_for_status()
    return httpx.Client(base_url=http.base_url, timeout=90, headers=bearing)
