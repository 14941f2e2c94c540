"""What the API answers, with a database behind it, is what its document declares."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import MATRIX, Api, Office, make_parts, open_office, serve
from tests.unit.test_http_openapi import shape_of


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


def filled(path: str, operation: dict[str, Any]) -> str:
    """The path with ids of things that are not there."""
    for one in operation.get("parameters", ()):
        if one["in"] == "path":
            id_ = "1" if one["name"] == "number" else uuid4().hex if one["name"] == "document_id" else str(uuid4())
            path = path.replace(f"{{{one['name']}}}", id_)
    return path


def fits(path: str, operation: dict[str, Any], answer: httpx.Response) -> None:
    """The answer's status and, where it is an error, its shape are declared."""
    declared = operation["responses"]
    status = str(answer.status_code)
    assert answer.status_code < 500, f"{answer.request.method} {path}: {answer.text}"
    if answer.is_success:
        assert status in declared, f"{answer.request.method} {path}: {status}"
        return
    response = declared.get(status) or declared["default"]
    media_type, model = shape_of(path)
    assert answer.headers["content-type"] == media_type
    assert list(response["content"]) == [media_type]
    model.model_validate_json(answer.text)


async def test_every_route_answers_an_administrator_as_it_declares(api: Api, office: Office) -> None:
    """GW-23: ids of nothing, empty bodies, another workspace, another tenant: declared, and never 500 or more."""
    admin, seen = await api.sign_in(office.emails[Role.ADMIN]), set()
    for path, methods in api.app.openapi()["paths"].items():
        for method, operation in methods.items():
            if MATRIX[method.upper(), path].public:
                continue
            url = filled(path, operation)
            body: dict[str, Any] = {"json": {}} if "requestBody" in operation else {}
            answer = await admin.request(method, url, **body)
            fits(path, operation, answer)
            elsewhere = await admin.request(method, url, **body, headers={"X-Workspace": str(uuid4())})
            stranger = await admin.request(method, url, **body, params={"tenant_id": str(uuid4())})
            assert (elsewhere.status_code, stranger.status_code) == (404, 403), f"{method} {path}"
            for refused in (elsewhere, stranger):
                fits(path, operation, refused)
            seen |= {str(one.status_code) for one in (answer, elsewhere, stranger)}
    assert {"200", "403", "404", "422"} <= seen


async def test_what_a_viewer_may_not_do_is_refused_as_declared(api: Api, office: Office) -> None:
    viewer, refused = await api.sign_in(office.emails[Role.VIEWER]), 0
    for path, methods in api.app.openapi()["paths"].items():
        for method, operation in methods.items():
            access = MATRIX[method.upper(), path]
            if access.public or Role.VIEWER in access.roles:
                continue
            answer = await viewer.request(method, filled(path, operation))
            assert answer.status_code == 403, f"{method} {path}"
            fits(path, operation, answer)
            refused += 1
    assert refused >= 25
