"""Errors in OpenAI's shape, and the paths that answer in it."""

from collections.abc import Sequence

PREFIX = "/v1/"
OTHERS = ("/v1/agent/", "/v1/documents/")  # not OpenAI's
_TYPES = {401: "authentication_error", 402: "insufficient_quota", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}  # what clients look for


def is_openai_path(path: str) -> bool:
    """True for a path of OpenAI's API."""
    return path.startswith(PREFIX) and not path.startswith(OTHERS)


def openai_error(status: int, code: str, message: str, at: Sequence[str] = ()) -> dict[str, dict[str, str | None]]:
    """`{error: {message, type, param, code}}`; `at` are the places of invalid fields, as `body.messages.0.role`."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    param = next((place.removeprefix("body.") for place in at), None)
    return {"error": {"message": message, "type": kind, "param": param, "code": _CODES.get(status, code)}}
