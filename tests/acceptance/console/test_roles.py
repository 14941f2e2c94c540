"""Who may do what: a Viewer is offered nothing that is refused, and another tenant's pages hold nothing."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import httpx
from playwright.sync_api import Page, expect

from cluster.basics.scope import Role
from serve_apps.http.auth.permissions import SOCKET
from serve_apps.ui.app import PAGES
from tests.acceptance.console.conftest import ADMINISTRATOR, VIEWER, Seen
from tests.acceptance.console.fields import SLOW, settled
from tests.acceptance.console.lines import Lines
from tests.acceptance.console.people import office, sign_in, viewer
from tests.acceptance.console.places import PAPER, upload
from tests.acceptance.console.rights import FRAME, OFFERS, fits
from tests.acceptance.console.walked import Walked
from tests.fakes.http import MATRIX

Open = Callable[[], Page]


def test_a_viewer_is_offered_nothing_that_is_refused(walked: Walked, lines: Lines) -> None:
    """AU-02: what a Viewer sees is what the page declares for everybody; the rest is there for the administrator."""
    seen, all_ = walked.offered[VIEWER], walked.offered[ADMINISTRATOR]
    undeclared = sorted(
        f"{path or 'now'}: {one}"
        for path, found in seen.items()
        for one in found
        if not fits(one, (*FRAME, *OFFERS[path].everybody)) and not (one.startswith("link") and not more(path, one))
    )
    actions = [(path, action) for path, offer in OFFERS.items() for action in offer.more]
    missing = [(path, action) for path, action in actions if not any(fits(one, (action,)) for one in all_[path])]
    unknown = sorted(
        f"{path or 'now'}: {one}"
        for path, found in all_.items()
        for one in found
        if one.startswith("button ") and not fits(one, (*FRAME, *OFFERS[path].everybody)) and not more(path, one)
    )
    lines.tell("actions a Viewer is offered", len(undeclared), not undeclared)
    shown = f"{len(actions) - len(missing)} of {len(actions)}"
    lines.tell("of these actions, the administrator is offered", shown, not missing and not unknown)
    wrong = {
        "offered to a Viewer, but not declared for everybody": undeclared,
        "declared, but not there, so that a Viewer's not seeing it shows nothing": missing,
        "there, but not declared at all": unknown,
    }
    assert not any(wrong.values()), json.dumps(wrong, indent=1, ensure_ascii=False)


def more(path: str, control: str) -> bool:
    """Whether a Viewer would be refused it."""
    return fits(control, (*OFFERS[path].more, *OFFERS[path].sometimes))


def refused_to_viewers(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every operation of the API's own document that the matrix keeps from a Viewer."""
    known = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    kept = {key for key, access in MATRIX.items() if not access.public and Role.VIEWER not in access.roles}
    assert kept <= known | {key for key in kept if key[0] == SOCKET}, "routes that the document does not name"
    return sorted(kept & known)


def test_every_forged_request_is_refused(window: Open, http: httpx.Client, seen: Seen, lines: Lines) -> None:
    """AU-02: whatever a page shows, the API says 403 to each operation that is not for Viewers; the console, too."""
    email, document, forged, page = "forges@orchestrator.local", upload(http, PAPER), {}, window()
    with viewer(http, email) as theirs:
        for method, path in refused_to_viewers(http.get("/openapi.json").json()):
            where = re.sub(r"\{\w+\}", lambda _: str(uuid4()), path.replace("{document_id}", document))
            forged[f"{method} {path}"] = theirs.request(method, where).status_code
    sign_in(page, email)
    expect(page.get_by_role("heading", name="Now")).to_be_visible(timeout=SLOW)
    added = page.context.request.post(
        "/console/gradio_api/upload",
        multipart={"files": {"name": "a.txt", "mimeType": "text/plain", "buffer": b"a"}},
        headers={"Origin": seen.origin},
    )
    forged["POST /console/gradio_api/upload"] = added.status
    passed = {name: status for name, status in forged.items() if status != 403}
    lines.tell("forged requests refused with 403", f"{len(forged) - len(passed)} of {len(forged)}", not passed)
    assert passed == {}
    changing = [name for name in forged if not name.startswith("GET ")]
    assert len(changing) >= 60, "the walk has lost its operations"
    assert http.get(f"/api/documents/{document}").status_code == 200


def test_another_tenant_sees_nothing(window: Open, http: httpx.Client, lines: Lines) -> None:
    """MT-01: not in a list, not by the address of a document."""
    document, email, page = upload(http, PAPER), office(http, "elsewhere"), window()
    sign_in(page, email)
    expect(page.get_by_role("heading", name="Now")).to_be_visible(timeout=SLOW)
    seen_there = []
    for path in (*(one.path for one in PAGES), f"documents?id={document}"):
        settled(page, path)
        if PAPER.stem in page.content():
            seen_there.append(path)
    picture = page.context.request.get(f"/console/picture/{document}/1").status
    lines.tell("pages that show another tenant's document", len(seen_there), not seen_there and picture == 404)
    assert seen_there == [] and picture == 404
