"""The API's document: every route declares the errors it answers with, and answers as it declares."""

from typing import Any
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from serve_apps.http import openai_errors, scim_errors
from serve_apps.http.app import create_app
from serve_apps.http.problems import MEDIA_TYPE, OpenAIProblem, ProblemDetails, ScimProblem
from tests.fakes.http import MATRIX, make_parts

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"  # nothing below gets as far as the database


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return create_app(make_parts(NOWHERE, tmp_path_factory.mktemp("api")))


def operations(app: FastAPI) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and operation of everything in the document."""
    paths = app.openapi()["paths"]
    return [(method.upper(), path, one) for path, methods in paths.items() for method, one in methods.items()]


def shape_of(path: str) -> tuple[str, type[BaseModel]]:
    """How errors of a path look: their media type and their model."""
    if scim_errors.is_scim_path(path):
        return scim_errors.MEDIA_TYPE, ScimProblem
    return ("application/json", OpenAIProblem) if openai_errors.is_openai_path(path) else (MEDIA_TYPE, ProblemDetails)


def test_every_route_declares_its_refusals_in_the_shape_they_have(app: FastAPI) -> None:
    """GW-23: 401, 403, 404, 422 where a route can answer so, and anything else as the same kind of problem."""
    for method, path, operation in operations(app):
        expected = {"422"} if operation.get("parameters") or "requestBody" in operation else set()
        if not MATRIX[method, path].public:
            expected |= {"401", "403", "404", "default"}
        elif "{" in path:
            expected |= {"401", "404", "default"}
        elif method == "POST":
            expected |= {"401", "default"}
        declared = {status: one for status, one in operation["responses"].items() if status[0] not in "123"}
        assert declared.keys() == expected, f"{method} {path}"
        media_type, model = shape_of(path)
        for status, response in declared.items():
            schema = {"$ref": f"#/components/schemas/{model.__name__}"}
            assert response["content"] == {media_type: {"schema": schema}}, f"{method} {path} {status}"


def test_whatever_the_document_refers_to_is_in_it(app: FastAPI) -> None:
    document, looked_at = app.openapi(), 0
    schemas = document["components"]["schemas"]
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                assert reference.removeprefix("#/components/schemas/") in schemas, reference
                looked_at += 1
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    assert looked_at > 300
    assert not {"HTTPValidationError", "ValidationError"} & schemas.keys()
    assert document is app.openapi()


def test_no_other_model_of_the_document_is_overwritten(app: FastAPI) -> None:
    """Regression: an answer's own `Problem` was replaced by that of the errors, and no real answer fitted it."""
    plain = get_openapi(title="plain", version="0", routes=app.routes)["components"]["schemas"]
    declared = app.openapi()["components"]["schemas"]
    kept = plain.keys() - {"HTTPValidationError", "ValidationError"}
    assert "Problem" in kept and {name: declared[name] for name in kept} == {name: plain[name] for name in kept}


async def test_who_is_not_signed_in_is_refused_by_every_route_as_it_declares(app: FastAPI) -> None:
    """GW-23: the real answers, below /v1 in OpenAI's shape, fit what the document promises."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    seen = set()
    async with httpx.AsyncClient(transport=transport, base_url="http://aos.test") as client:
        for method, path, operation in operations(app):
            if path in ("/health", "/api/auth/providers") or ".well-known" in path:  # answered to everybody
                continue
            filled = path
            for one in operation.get("parameters", ()):
                if one["in"] == "path":
                    filled = filled.replace(f"{{{one['name']}}}", "1" if one["name"] == "number" else str(uuid4()))
            answer = await client.request(method, filled)
            public = MATRIX[method, path].public
            of_public = (422, 404) if "{" in path else (422,)
            assert answer.status_code in (of_public if public else (401,)), f"{method} {path}: {answer.text}"
            media_type, model = shape_of(path)
            assert answer.headers["content-type"] == media_type
            assert str(answer.status_code) in operation["responses"]
            model.model_validate_json(answer.text)
            seen.add((method, path))
    assert len(seen) > 60
