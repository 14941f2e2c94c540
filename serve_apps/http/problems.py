"""Errors as problem details (RFC 9457), below /v1 in OpenAI's shape; each with a code and what to do."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cluster.basics.errors import AosError, Conflict, Forbidden, Permanent
from pipelines.documents.document import Reason, Unreadable
from serve_apps.http import openai_errors

log = logging.getLogger("aos.http")

MEDIA_TYPE = "application/problem+json"
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

    def __init__(self, reason: Reason, detail: str, *, fix: str | None = None) -> None:
        """`reason` is one of the closed list."""
        super().__init__(detail or str(reason), fix=fix)
        self.reason = reason


class FileUnsupported(FileRefused):
    """The content of this file is of no supported kind, or not of the kind its name says."""

    code, status = "unsupported_file", 415


class FileChanged(Conflict):
    """The file is no longer the one that was read."""

    code, reason = "file_changed", Reason.CHANGED
    fix = "Scan the folder again."


def refused(error: Unreadable) -> FileRefused:
    """A file's own problem as an answer to whoever sent it."""
    kind = FileUnsupported if error.reason is Reason.UNSUPPORTED else FileRefused
    return kind(error.reason, error.detail)


def problem(
    request: Request, status: int, code: str, title: str, detail: str = "", fix: str = "", **more: Any
) -> Response:
    """The answer. `more` are extension members; those that are None are left out."""
    if openai_errors.speaks(request.url.path):
        message = " ".join(part for part in (detail or title, fix) if part)
        at = [one["at"] for one in more.get("errors") or ()]
        shaped = openai_errors.shaped(status, code, message, at)
        return Response(json.dumps(shaped, ensure_ascii=True), status, media_type="application/json")
    body = {
        "type": f"urn:aos:problem:{code}", "title": title, "status": status, "detail": detail, "code": code,
        "fix": fix, "instance": request.url.path, **{name: value for name, value in more.items() if value is not None},
    }  # fmt: skip
    # Escaped to ASCII: a validation message may quote a lone surrogate, which UTF-8 cannot hold.
    return Response(json.dumps(body, ensure_ascii=True), status, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Every error that reaches the edge leaves it as a problem."""
    app.add_exception_handler(AosError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _protocol)
    app.add_exception_handler(Exception, _bug)


def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, AosError)
    reason = getattr(error, "reason", None)
    answer = problem(
        request, error.status, error.code, error.title, error.detail, error.hint,
        reason=None if reason is None else str(reason),
    )  # fmt: skip
    if error.status == 401:
        answer.headers["WWW-Authenticate"] = "Bearer"
    if error.status in (429, 503):
        answer.headers["Retry-After"] = str(max(1, math.ceil(getattr(error, "retry_after", 1))))
    return answer


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = [_explained(one) for one in error.errors()]
    detail = "; ".join(f"{one['at']}: {one['message']}" for one in errors[:5])
    return problem(
        request, 422, "invalid", "The request is not valid.", detail,
        "Correct the fields that `errors` names; /docs shows what is expected.", errors=errors[:50],
    )  # fmt: skip


def _explained(error: Mapping[str, Any]) -> dict[str, str]:
    where: Sequence[object] = error["loc"]
    return {"at": ".".join(str(part)[:100] for part in where), "message": str(error["msg"])[:300]}


def _protocol(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, f"http_{error.status_code}")
    answer = problem(request, error.status_code, code, str(error.detail))
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


def _bug(request: Request, error: Exception) -> Response:
    """An error that nobody named: logged with an id that the answer carries, and nothing else told."""
    id_ = uuid4().hex
    log.error("unexpected error %s on %s %s", id_, request.method, request.url.path, exc_info=error)
    return problem(
        request, 500, "internal", "Something went wrong here.", f"error {id_}",
        "Report this id together with the server's log.", error_id=id_,
    )  # fmt: skip
