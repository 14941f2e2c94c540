"""Signing in by a provider: off to the API, which leads there, and back with a code for this browser alone."""

import secrets
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode

from authlib.oauth2.rfc7636 import create_s256_code_challenge
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from serve_apps.ui.kit.api import SignInClient
from serve_apps.ui.kit.html import SafeHtml, join_html, tag
from serve_apps.ui.kit.page import COOKIE, PREFIX, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.session_guard import redirect_to, return_address
from serve_apps.ui.sign_in import is_encrypted, set_session_cookie, sign_in_page

SSO_COOKIE: Final = "aos_sso"  # what our code is redeemed with, and where to go then
SSO_SECONDS: Final = 600
SSO_REASONS: Final[Mapping[str, ProblemReport]] = {
    code: ProblemReport(title, "", fix, status, code)
    for code, title, fix, status in (
        ("nothing_granted", "You are known, and nothing here is for you yet.", "Ask an administrator for access.", 403),
        ("account_disabled", "Your account is disabled.", "Ask an administrator of your organisation.", 403),
        ("account_not_linked", "Another account may have your e-mail address.", "Sign in with your password.", 403),
        (
            "sign_in_not_begun",
            "This browser has no such sign-in under way.",
            "Begin again in this browser, with cookies allowed, and come back within ten minutes.",
            401,
        ),
        ("provider_unavailable", "The provider does not answer.", "Try again, or sign in with your password.", 503),
    )
}
SSO_FAILED: Final = ProblemReport(
    "The sign-in did not come to an end.",
    "",
    "Begin again; the audit trail tells an administrator why.",
    401,
    "sign_in",
)
NO_PROVIDER: Final = ProblemReport("There is no such provider.", "", "Choose one of these.", 404, "unknown_provider")


def provider_routes(console: ConsoleContext, door: SignInClient) -> APIRouter:
    """/sso/start and /sso."""
    router = APIRouter(include_in_schema=False)

    @router.get("/sso/start")
    async def sso_start(request: Request, provider: str = "", next: str = "") -> Response:
        known = {one.name: one for one in await door.providers()}
        found = one if (one := known.get(provider)) and one.kind == "oidc" else None
        if found is None:
            return sign_in_page(next, "", NO_PROVIDER, tuple(known.values()))
        verifier, next_ = secrets.token_urlsafe(48), return_address(next)
        query = urlencode({"challenge": create_s256_code_challenge(verifier), "return_to": "console"})
        answer = redirect_to(f"{found.start}?{query}")
        # Lax: the browser comes back from the provider's site, and has to bring it.
        kept: dict[str, Any] = {"max_age": SSO_SECONDS, "path": f"{PREFIX}/sso", "httponly": True, "samesite": "lax"}
        answer.set_cookie(SSO_COOKIE, f"{verifier}:{quote(next_, safe='')}", secure=is_encrypted(request), **kept)
        return answer

    @router.get("/sso")
    async def sso(request: Request, code: str = "", error: str = "") -> Response:
        verifier, _, kept = request.cookies.get(SSO_COOKIE, "").partition(":")
        next_ = return_address(unquote(kept))
        try:
            if error or not verifier:
                raise ApiProblem(SSO_REASONS.get(error, SSO_FAILED))
            email, grant = await door.redeem(code, verifier)
        except ApiProblem as problem:
            return sign_in_page(next_, "", problem.told, await door.providers())
        console.sessions.end(request.cookies.get(COOKIE))
        key, _ = console.sessions.begin(email, grant)
        # A page that leads on, and no redirect: on a way that began at another site the new cookie would not be sent.
        answer = set_session_cookie(request, leading_on(next_, "Go on to the console"), key, console.sessions.seconds)
        answer.delete_cookie(SSO_COOKIE, path=f"{PREFIX}/sso", httponly=True, samesite="lax")
        return answer

    return router


def leading_on(where: str, label: str) -> Response:
    """A page that sends the browser on by itself, as by a link of ours."""
    head = tag("head", tag("meta", charset="utf-8"), tag("meta", http_equiv="refresh", content=f"0;url={where}"))
    body = tag("body", tag("a", label, href=where))
    document = join_html(SafeHtml("<!doctype html>"), tag("html", head, body, lang="en"))
    return HTMLResponse(document, headers={"Cache-Control": "no-store"})
