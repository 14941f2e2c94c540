"""Errors as problem details (RFC 9457), below /v1 in OpenAI's shape; each with a code and what to do."""

import json
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cluster.basics.disk import full_at, means_full
from cluster.basics.errors import AosError, Conflict, Forbidden, Permanent
from cluster.basics.security_headers import SECURITY_HEADERS
from cluster.state.limits.limit_errors import RateLimited
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ingest.remedies import find_remedy
from serve_apps.http import openai_errors, scim_errors
from serve_apps.http.auth.permissions import AccessRule, RouteKey
from serve_apps.http.body_limit import BodyTooLarge

log = logging.getLogger("aos.http")

MEDIA_TYPE = "application/problem+json"
MCP_PATH, RPC_LIMITED = "/mcp", -32_029  # of the codes that JSON-RPC leaves to servers
# What pydantic calls the things that it tries: `function-after[...]`, `list[Part]`, `constrained-str`, `str`.
_TRIED = re.compile(
    r"[\w-]+\[|(function|constrained|lax|json|tagged|definition)-|(str|int|float|bool|list|dict)$|[A-Z]\w*$"
)
_REFERENCE = "#/components/schemas/{model}"
_CODES = {400: "malformed", 404: "no_such_route", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media"}


class PasswordChangeRequired(Forbidden):
    """Choose your own password first."""

    code = "password_change_required"
    fix = "POST /api/auth/password with the current and a new password."


class ScopeMismatch(Forbidden):
    """The tenant or workspace that the request names is not the one you are signed in to."""

    code = "scope_mismatch"
    fix = "Leave it out, or choose another of your workspaces with the header X-Workspace."


class FileRefused(Permanent):
    """This file cannot be read."""

    code = "unreadable_file"

    def __init__(self, reason: FailureReason, detail: str, *, fix: str | None = None) -> None:
        """`reason` is one of the closed list; without a `fix` of its own the error has the reason's."""
        super().__init__(detail or str(reason), fix=fix or find_remedy(reason).fix)
        self.reason = reason


class FileUnsupported(FileRefused):
    """The content of this file is of no supported kind, or not of the kind its name says."""

    code, status = "unsupported_file", 415


class FileChanged(Conflict):
    """The file is no longer the one that was read."""

    code, reason = "file_changed", FailureReason.CHANGED
    fix = "Scan the folder again."


class ProblemDetails(BaseModel):
    """An error: `code` is for programs, `fix` says what to do; what is no problem's business is left out."""

    model_config = ConfigDict(extra="forbid")

    type: str
    title: str
    status: int
    detail: str
    code: str
    fix: str
    instance: str
    reason: str | None = None
    limit: dict[str, str | int | float] | None = None
    errors: list[dict[str, str]] | None = None
    error_id: str | None = None


class OpenAIError(BaseModel):
    """Error as OpenAI's clients expect it."""

    model_config = ConfigDict(extra="forbid")

    message: str
    type: str
    param: str | None
    code: str | None


class ScimProblem(BaseModel):
    """An error below /scim (RFC 7644, section 3.12)."""

    schemas: list[str]
    status: str
    detail: str
    scimType: str | None = None


class OpenAIProblem(BaseModel):
    """An error below /v1."""

    model_config = ConfigDict(extra="forbid")

    error: OpenAIError


def file_refusal(error: Unreadable) -> FileRefused:
    """A file's own problem as an answer to whoever sent it."""
    kind = FileUnsupported if error.reason is FailureReason.UNSUPPORTED else FileRefused
    return kind(error.reason, error.detail)


def problem_response(
    request: Request, status: int, code: str, title: str, detail: str = "", fix: str = "", **more: Any
) -> Response:
    """The answer. `more` are extension members; those that are None are left out."""
    if openai_errors.is_openai_path(request.url.path):
        message = " ".join(part for part in (detail or title, fix) if part)
        at = [one["at"] for one in more.get("errors") or ()]
        shaped = openai_errors.openai_error(status, code, message, at)
        return Response(json.dumps(shaped, ensure_ascii=True), status, SECURITY_HEADERS, "application/json")
    if scim_errors.is_scim_path(request.url.path):
        message = " ".join(part for part in (title, detail, fix) if part)
        answer = scim_errors.scim_error(status, code, message, more.get("scim_type"))
        return Response(json.dumps(answer), int(str(answer["status"])), SECURITY_HEADERS, scim_errors.MEDIA_TYPE)
    if request.url.path == MCP_PATH and status == 429:
        told = {
            "code": RPC_LIMITED,
            "message": " ".join((detail or title, fix)).strip(),
            "data": {"code": code, **more},
        }
        rpc = {"jsonrpc": "2.0", "id": None, "error": told}
        return Response(json.dumps(rpc, ensure_ascii=True), status, SECURITY_HEADERS, "application/json")
    body = {"type": f"urn:aos:problem:{code}", "title": title, "status": status, "detail": detail, "code": code}
    body |= {"fix": fix, "instance": request.url.path}
    body |= {name: value for name, value in more.items() if value is not None}
    # The headers here, too: what nobody named is answered outside of all middleware.
    # Escaped to ASCII: a validation message may quote a lone surrogate, which UTF-8 cannot hold.
    return Response(json.dumps(body, ensure_ascii=True), status, SECURITY_HEADERS, MEDIA_TYPE)


def install_error_handlers(app: FastAPI) -> None:
    """Every error that reaches the edge leaves it as a problem."""
    app.add_exception_handler(AosError, _handle_known_error)
    app.add_exception_handler(RateLimited, _handle_rate_limited)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(OSError, _system)
    app.add_exception_handler(Exception, _handle_unexpected_error)
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            declare_error_responses(made(), app.state.permissions)
        return made()

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to extend the document


def declare_error_responses(document: dict[str, Any], permissions: Mapping[RouteKey, AccessRule]) -> None:
    """Write into the API's document what each route refuses with: derived from its permission, so none is forgotten."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            responses = operation["responses"]
            refusals = _refusals_by_status(permissions[method.upper(), path], operation)
            responses.update({status: _error_response(path, title) for status, title in refusals.items()})
    _, shapes = models_json_schema(
        [(ProblemDetails, "serialization"), (OpenAIProblem, "serialization"), (ScimProblem, "serialization")],
        ref_template=_REFERENCE,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):  # FastAPI's, in place of which stands ours
        schemas.pop(unused, None)
    assert schemas.keys().isdisjoint(shapes["$defs"]), "another model of the API has this name"
    schemas.update(shapes["$defs"])


def _refusals_by_status(access: AccessRule, operation: Mapping[str, Any]) -> dict[str, str]:
    """Status to title; `default` stands for conflicts, limits and parts that are away."""
    found: dict[str, str] = {}
    names_something = any(one["in"] == "path" for one in operation.get("parameters", ()))
    # A public route that takes a body takes credentials in it, one that names a provider what that has said.
    if not access.public or names_something or "requestBody" in operation:
        found |= {"401": "Nobody is signed in with this.", "default": "Any other error."}
    if not access.public:
        found["403"] = "The role does not allow it, or another scope is named."
    if not access.public or names_something:
        found["404"] = "It is not there, or not yours."
    if "422" in operation["responses"]:
        found["422"] = "The request is not valid."
    return found


def _error_response(path: str, title: str) -> dict[str, Any]:
    model: type[BaseModel]
    model, media_type = ProblemDetails, MEDIA_TYPE
    if openai_errors.is_openai_path(path):
        model, media_type = OpenAIProblem, "application/json"
    elif scim_errors.is_scim_path(path):
        model, media_type = ScimProblem, scim_errors.MEDIA_TYPE
    schema = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {"description": title, "content": {media_type: {"schema": schema}}}


def _handle_known_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, AosError)
    reason = getattr(error, "reason", None)
    told = {name: getattr(error, name, None) for name in ("scim_type", "limit")}
    told["reason"] = None if reason is None else str(reason)
    answer = problem_response(request, error.status, error.code, error.title, error.detail, error.hint, **told)
    if error.status == 401:
        answer.headers["WWW-Authenticate"] = _challenge(request)
    if error.status in (429, 503):
        answer.headers["Retry-After"] = str(max(1, math.ceil(getattr(error, "retry_after", 1))))
    if isinstance(error, RateLimited):
        answer.headers.update(error.headers)
    return answer


def _challenge(request: Request) -> str:
    """What is to be shown; an MCP client is told where it gets that (RFC 9728, section 5.1)."""
    resource: str | None = request.app.state.parts.sign_in.resource
    if resource is None or request.url.path != "/mcp":
        return "Bearer"
    return f'Bearer resource_metadata="{resource.removesuffix("/mcp")}/.well-known/oauth-protected-resource/mcp"'


async def _handle_rate_limited(request: Request, error: Exception) -> Response:
    """As every known error, but on the event loop: Starlette calls others in a thread, and these come in floods."""
    return _handle_known_error(request, error)


def _handle_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = explain_invalid_fields(error.errors())
    detail = "; ".join(f"{one['at']}: {one['message']}" for one in errors[:5])
    fix = "Correct the fields that `errors` names; /docs shows what is expected."
    return problem_response(request, 422, "invalid", "The request is not valid.", detail, fix, errors=errors[:50])


def explain_invalid_fields(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Each wrong place and what is wrong there, in the sender's words.

    Where a field may be one of several things, the validator names each it has tried in the place and complains of all:
    those names are its own and are left out, and so is what it says of a field as a whole when it came to look into it.
    """
    told = [
        (tuple(_sender_path(error["loc"])), str(error["msg"]).removeprefix("Value error, ")[:300]) for error in errors
    ]
    places = {place for place, _ in told}
    deepest = [one for one in told if not any(len(p) > len(one[0]) and p[: len(one[0])] == one[0] for p in places)]
    return [{"at": ".".join(place), "message": message} for place, message in dict.fromkeys(deepest)]


def _sender_path(where: Sequence[object]) -> Iterator[str]:
    """The parts of a place that the sender knows: the first says which part of the request, numbers count in lists."""
    for number, part in enumerate(where):
        if isinstance(part, int) or number < 2 or not _TRIED.match(str(part)):
            yield str(part)[:100]


def _handle_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if means_full(error.__cause__):  # a body that is kept while it arrives is "malformed" to FastAPI if that fails
        return _handle_known_error(request, full_at())
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    more = (error.explained, error.fix) if isinstance(error, BodyTooLarge) else ()
    answer = problem_response(request, error.status_code, code, str(error.detail), *more)
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def _system(request: Request, error: Exception) -> Response:
    """The error of a refused system call: a full disk has a name, anything else is a bug."""
    if not means_full(error):
        raise error
    return _handle_known_error(request, full_at())


def _handle_unexpected_error(request: Request, error: Exception) -> Response:
    """An error that nobody named: logged with an id that the answer carries, and nothing else told."""
    id_ = uuid4().hex
    log.error("unexpected error %s on %s %s", id_, request.method, request.url.path, exc_info=error)
    title, fix = "Something went wrong here.", "Report this id together with the server's log."
    return problem_response(request, 500, "internal", title, f"error {id_}", fix, error_id=id_)
