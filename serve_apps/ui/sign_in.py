"""Signing in and out: small pages of our own, without a script, in front of everything else."""

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from typing import Annotated, Any, Final
from urllib.parse import quote, unquote, urlencode

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response

from serve_apps.ui.kit.api import SignInClient, SignInProvider
from serve_apps.ui.kit.blocks import problem_card
from serve_apps.ui.kit.frame import NAME
from serve_apps.ui.kit.html import SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import COOKIE, PREFIX, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.session_guard import redirect_to, return_address
from serve_apps.ui.sessions import ConsoleSession

Field = Annotated[str, Form(max_length=2000)]
SSO_COOKIE: Final = "aos_sso"  # what our code is redeemed with, and where to go then
SSO_SECONDS: Final = 600
SSO_REASONS: Final[Mapping[str, ProblemReport]] = {
    code: ProblemReport(title, "", fix, status, code)
    for code, title, fix, status in (
        ("nothing_granted", "You are known, and nothing here is for you yet.", "Ask an administrator for access.", 403),
        ("account_disabled", "Your account is disabled.", "Ask an administrator of your organisation.", 403),
        ("account_not_linked", "Another account may have your e-mail address.", "Sign in with your password.", 403),
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
DIFFERENT = ProblemReport("The two new passwords differ.", "", "Type the new password twice.", 422, "passwords_differ")


def sign_in_routes(console: ConsoleContext, door: SignInClient) -> APIRouter:
    """/sign-in, /password, /sign-out, /workspace."""
    router = APIRouter(include_in_schema=False)

    @router.get("/sign-in")
    async def ask(next: str = "") -> Response:
        return _sign_in(next, "", None, await door.providers())

    @router.post("/sign-in")
    async def sign_in(request: Request, email: Field = "", password: Field = "", next: Field = "") -> Response:
        try:
            grant = await door.login(email.strip(), password, _client_address(request))
        except ApiProblem as problem:
            return _sign_in(next, email, problem.told, await door.providers())
        console.sessions.end(request.cookies.get(COOKIE))
        key, session = console.sessions.begin(email.strip(), grant)
        where = return_address(next)
        if session.grant.must_change:
            where = f"{PREFIX}/password?next={quote(where, safe='')}"
        return _set_session_cookie(request, redirect_to(where), key, console.sessions.seconds)

    @router.get("/sso/start")
    async def sso_start(request: Request, provider: str = "", next: str = "") -> Response:
        found = {one.name: one for one in await door.providers()}.get(provider)
        if found is None:
            return _sign_in(next, "", NO_PROVIDER, await door.providers())
        verifier, next_ = secrets.token_urlsafe(48), return_address(next)
        query = urlencode({"challenge": _challenge_of(verifier), "return_to": "console"})
        answer = redirect_to(f"{found.start}?{query}")
        # Lax: the browser comes back from the provider's site, and has to bring it.
        kept: dict[str, Any] = {"max_age": SSO_SECONDS, "path": f"{PREFIX}/sso", "httponly": True, "samesite": "lax"}
        answer.set_cookie(SSO_COOKIE, f"{verifier}:{quote(next_, safe='')}", secure=_is_secure(request), **kept)
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
            return _sign_in(next_, "", problem.told, await door.providers())
        console.sessions.end(request.cookies.get(COOKIE))
        key, _ = console.sessions.begin(email, grant)
        # A page that leads on, and no redirect: on a way that began at another site the new cookie would not be sent.
        answer = _set_session_cookie(request, _leading_on(next_), key, console.sessions.seconds)
        answer.delete_cookie(SSO_COOKIE, path=f"{PREFIX}/sso", httponly=True, samesite="lax")
        return answer

    @router.get("/password")
    async def password_page(request: Request, next: str = "") -> Response:
        return _password_form(console.session(request), next, None)

    @router.post("/password")
    async def password(
        request: Request, old: Field = "", new: Field = "", again: Field = "", next: Field = ""
    ) -> Response:
        if (session := console.session(request)) is None:
            return redirect_to(f"{PREFIX}/sign-in")
        if new != again:
            return _password_form(session, next, DIFFERENT)
        async with session.refreshing:
            try:
                session.grant = await door.change_password(session.grant, old, new, _client_address(request))
            except ApiProblem as problem:
                return _password_form(session, next, problem.told)
        return redirect_to(return_address(next))

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        session = console.session(request)
        console.sessions.end(request.cookies.get(COOKIE))
        if session is not None:
            async with session.refreshing:  # whoever renews the token now has the one that is to die
                with suppress(ApiProblem):  # the session is over here all the same: its tokens are forgotten
                    await door.logout(session.grant)
        answer = redirect_to(f"{PREFIX}/sign-in")
        answer.delete_cookie(COOKIE, path=PREFIX, httponly=True, samesite="strict")
        return answer

    @router.post("/workspace")
    async def workspace(request: Request, workspace: Field = "", next: Field = "") -> Response:
        if (session := console.session(request)) and any(place.id == workspace for place in session.places):
            session.chosen = workspace
        return redirect_to(return_address(next))

    return router


def _client_address(request: Request) -> str | None:
    """The address of who asks; what a proxy in front only calls one is not passed on."""
    try:
        return str(ip_address(request.client.host)) if request.client else None
    except ValueError:
        return None


def _set_session_cookie(request: Request, answer: Response, key: str, seconds: float) -> Response:
    age, secure = int(seconds), _is_secure(request)
    answer.set_cookie(COOKIE, key, max_age=age, path=PREFIX, httponly=True, samesite="strict", secure=secure)
    return answer


def _is_secure(request: Request) -> bool:
    return request.headers.get("x-forwarded-proto", request.url.scheme).startswith("https")


def _challenge_of(verifier: str) -> str:
    """S256 (RFC 7636, section 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _leading_on(where: str) -> Response:
    head = tag("head", tag("meta", charset="utf-8"), tag("meta", http_equiv="refresh", content=f"0;url={where}"))
    body = tag("body", tag("a", "Go on to the console", href=where))
    document = join_html(SafeHtml("<!doctype html>"), tag("html", head, body, lang="en"))
    return HTMLResponse(document, headers={"Cache-Control": "no-store"})


def _sign_in(next_: str, email: str, told: ProblemReport | None, providers: Sequence[SignInProvider] = ()) -> Response:
    form = _door_form(
        "sign-in",
        next_,
        "Sign in",
        _form_field("E-mail", "email", "email", "username", email, first=not email),
        _form_field("Password", "password", "password", "current-password", first=bool(email)),
    )
    query = f"&next={quote(return_address(next_), safe='')}"
    links = [
        tag("a", f"Sign in with {one.title}", href=f"{PREFIX}/sso/start?provider={one.name}{query}", class_="provider")
        for one in providers
    ]
    return _form_page("Sign in", "Your organisation's documents, agents and their runs.", told, join_html(form, *links))


def _password_form(session: ConsoleSession | None, next_: str, told: ProblemReport | None) -> Response:
    forced = session is None or session.grant.must_change
    form = _door_form(
        "password",
        next_,
        "Change the password",
        _form_field("Present password", "old", "password", "current-password", first=True),
        _form_field("New password, at least 12 characters", "new", "password", "new-password"),
        _form_field("New password again", "again", "password", "new-password"),
    )
    if forced:
        about = "The first password was only for the first time. Choose one that nobody else knows."
        return _form_page("Choose your password", about, told, form)
    about = "Every other session of yours ends with it at once. API keys go on: revoke those that you do not know."
    back = tag("p", tag("a", "Keep the present one", href=return_address(next_)))
    return _form_page("Change your password", about, told, join_html(form, back))


def _door_form(path: str, next_: str, send: str, *inside: SafeHtml) -> SafeHtml:
    back = tag("input", type="hidden", name="next", value=return_address(next_))
    return tag("form", inside, back, tag("button", send), method="post", action=f"{PREFIX}/{path}")


def _form_field(label: str, name: str, type_: str, autocomplete: str, value: str = "", first: bool = False) -> SafeHtml:
    typed = {"name": name, "type": type_, "autocomplete": autocomplete, "value": value}
    box = tag("input", **typed, required=True, autofocus=first, maxlength=1000)
    return tag("label", tag("span", label), box)


def _form_page(title: str, about: str, told: ProblemReport | None, form: SafeHtml) -> Response:
    head = join_html(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · {NAME}"),
        tag("link", rel="stylesheet", href=f"{PREFIX}/console.css"),
        tag("link", rel="icon", href=f"{PREFIX}/icon.svg", type="image/svg+xml"),
    )
    icon = tag("img", src=f"{PREFIX}/icon.svg", alt="", width=36, height=36)
    brand = tag("div", icon, tag("b", NAME), class_="brand")
    refused = problem_card(told) if told else None
    inside = tag("main", brand, tag("h1", title), quiet_text(about), refused, form, class_="aos-door")
    document = join_html(SafeHtml("<!doctype html>"), tag("html", tag("head", head), tag("body", inside), lang="en"))
    status = told.status if told and 400 <= told.status < 600 else 502 if told else 200
    return HTMLResponse(document, status, headers={"Cache-Control": "no-store"})
