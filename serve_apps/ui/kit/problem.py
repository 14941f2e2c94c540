"""Problems of the API, in its own words, as pages show them: what happened, and what to try."""

from dataclasses import dataclass

import httpx

UNAUTHENTICATED = 401
MISSING = 404


@dataclass(frozen=True, slots=True)
class ProblemReport:
    """A problem of the API (RFC 9457), or of the way to it (`status` 0)."""

    title: str
    detail: str
    fix: str
    status: int
    code: str


class ApiProblem(Exception):
    """The API refused, or could not be reached; `told` says what and what to do."""

    def __init__(self, told: ProblemReport) -> None:
        super().__init__(" ".join(part for part in (told.title, told.detail) if part))
        self.told = told


def problem_from_answer(answer: httpx.Response) -> ApiProblem:
    """From an answer that is no success, whatever its body looks like."""
    body = _answer_json(answer)
    title = str(body.get("title") or answer.reason_phrase or "The request failed.")
    detail, fix = (str(body.get(name) or "") for name in ("detail", "fix"))
    code = str(body.get("code") or f"http_{answer.status_code}")
    return ApiProblem(ProblemReport(title, detail, fix, answer.status_code, code))


def problem_from_transport(error: httpx.TransportError) -> ApiProblem:
    """Nobody answers, or the connection broke."""
    slow = isinstance(error, httpx.TimeoutException)
    title = "The API took too long to answer." if slow else "The API cannot be reached."
    fix = "Try again in a moment; `aos doctor` shows what is not well."
    return ApiProblem(ProblemReport(title, str(error), fix, 0, "slow" if slow else "unreachable"))


def signed_out() -> ApiProblem:
    """The session is over."""
    return ApiProblem(
        ProblemReport("You are signed out.", "The session ended.", "Sign in again.", UNAUTHENTICATED, "signed_out")
    )


def workspace_gone() -> ApiProblem:
    """The problem of an act meant for a workspace that is not the one of this session now."""
    fix = "Reload the page: it shows another workspace of yours."
    return ApiProblem(
        ProblemReport("This workspace is gone.", "It was deleted, and nothing was done.", fix, 409, "own_workspace")
    )


def no_such_thing() -> ApiProblem:
    """The page's address names something that cannot be there."""
    fix = "Go back to the list, and choose it there."
    return ApiProblem(
        ProblemReport("This is not here.", "No id looks like the one in the address.", fix, MISSING, "not_found")
    )


def _answer_json(answer: httpx.Response) -> dict[str, object]:
    try:
        body = answer.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
