"""Who may do what: a Viewer is offered nothing that is refused, and another tenant's pages hold nothing."""

from collections.abc import Callable

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.conftest import PASSWORD, ROOT
from tests.console.conftest import Seen, sign_in
from tests.console.lines import ROLES, Lines
from tests.console.test_weight import FIRST, office

SLOW = 60_000
PAGES = ("", "ingest", "documents", "chat", "search", "index", "runs", "agents", "skills", "system")
ACTIONS = (
    "Start this scan", "Estimate first", "Re-index everything", "Switch", "Delete …", "Process again", "Cancel",
    "Resume",
    "Retry what failed", "Approve", "Save as golden question", "New agent", "Import", "Forget it", "Restart", "Save",
)  # fmt: skip
PAPER = ROOT / "tests" / "samples" / "control-room.md"


def viewer(http: httpx.Client, email: str) -> httpx.Client:
    """A Viewer of the first workspace whose first password is changed, signed in at the API."""
    http.post("/api/users", json={"email": email, "password": FIRST, "role": "viewer"}).raise_for_status()
    client = httpx.Client(base_url=http.base_url, timeout=60)
    for password in (FIRST, PASSWORD):
        login = client.post("/api/auth/login", json={"email": email, "password": password}).json()
        client.headers["Authorization"] = f"Bearer {login['access_token']}"
        if password == FIRST:
            change = {"current_password": FIRST, "new_password": PASSWORD}
            client.post("/api/auth/password", json=change).raise_for_status()
    return client


def settled(page: Page, path: str) -> None:
    """Open a page and wait until its parts are filled."""
    page.goto(f"/console/{path}")
    expect(page.locator("main h1, main [role=alert]").first).to_be_visible(timeout=SLOW)
    expect(page.locator(".aos-loading")).to_have_count(0, timeout=SLOW)


def test_a_viewer_is_offered_nothing_that_is_refused(
    stranger: Page, http: httpx.Client, seen: Seen, lines: Lines, shot: Callable[[Page, str], None]
) -> None:
    """AU-02: hidden in the page, and refused by the API whatever the page shows."""
    files = {"file": (PAPER.name, PAPER.read_bytes())}
    document = http.post("/api/documents/upload", params={"wait": 60}, files=files).json()["document_id"]
    theirs = viewer(http, "looks-only@orchestrator.local")
    sign_in(stranger, "looks-only@orchestrator.local", PASSWORD)
    expect(stranger.get_by_role("heading", name="Now")).to_be_visible(timeout=SLOW)
    offered = [
        (path, name)
        for path in (*PAGES, f"documents?id={document}")
        for name in _buttons(stranger, path)
        if name in ACTIONS
    ]
    forged = {
        f"{method} {path}": theirs.request(method, path, json=body).status_code
        for method, path, body in (
            ("DELETE", f"/api/documents/{document}", None),
            ("POST", "/api/documents/reindex-all", {}),
            ("POST", "/api/documents/batch-scan", {"path": "."}),
            ("POST", "/api/users", {"email": "x@example.org", "role": "admin"}),
            ("PUT", "/api/admin/config", {"changes": {}}),
            ("DELETE", "/api/rag/cache", None),
        )
    }
    given = {"files": {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}}
    added = stranger.context.request.post(
        "/console/gradio_api/upload",
        multipart=given,
        headers={"Origin": seen.origin},  # type: ignore[arg-type]
    )
    forged["POST /console/gradio_api/upload"] = added.status
    refused = set(forged.values()) == {403}
    lines.tell("actions a Viewer is offered", len(offered), ROLES, not offered)
    lines.tell(
        "forged requests refused with 403", f"{list(forged.values()).count(403)} of {len(forged)}", ROLES, refused
    )
    assert offered == []
    assert refused, forged


def _buttons(page: Page, path: str) -> list[str]:
    settled(page, path)
    return [one.inner_text().strip() for one in page.get_by_role("button").all() if one.is_visible()]


def test_another_tenant_sees_nothing(browser: Browser, http: httpx.Client, seen: Seen, lines: Lines) -> None:
    """MT-01: not in a list, not by the address of a document."""
    files = {"file": (PAPER.name, PAPER.read_bytes())}
    document = http.post("/api/documents/upload", params={"wait": 60}, files=files).json()["document_id"]
    email = office(http, "elsewhere")
    context = browser.new_context(base_url=seen.origin)
    page = context.new_page()
    sign_in(page, email, PASSWORD)
    expect(page.get_by_role("heading", name="Now")).to_be_visible(timeout=SLOW)
    seen_there = []
    for path in (*PAGES, f"documents?id={document}"):
        settled(page, path)
        if "control-room" in page.content():
            seen_there.append(path)
    picture = page.context.request.get(f"/console/picture/{document}/1").status
    context.close()
    lines.tell("pages that show another tenant's document", len(seen_there), ROLES, not seen_there)
    assert seen_there == [] and picture == 404
