"""Signing in and out: small pages of our own, without a script, in front of everything else."""

from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response

from serve_apps.ui.kit.api import SignInClient, SignInProvider
from serve_apps.ui.kit.blocks import problem_card
from serve_apps.ui.kit.frame import NAME
from serve_apps.ui.kit.html import SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import COOKIE, PREFIX, ConsoleContext
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.session_guard import redirect_to, return_address
from serve_apps.ui.sessions import ConsoleSession, TokenGrant

Field = Annotated[str, Form(max_length=2000)]
DIFFERENT = ProblemReport("The two new passwords differ.", "", "Type the new password twice.", 422, "passwords_differ")


def sign_in_routes(console: ConsoleContext, door: SignInClient) -> APIRouter:
    """/sign-in, /password, /sign-out, /workspace."""
    router = APIRouter(include_in_schema=False)

    @router.get("/sign-in")
    async def ask(next: str = "") -> Response:
        return sign_in_page(next, "", None, await door.providers())

    @router.post("/sign-in")
    async def sign_in(
        request: Request, email: Field = "", password: Field = "", directory: Field = "", next: Field = ""
    ) -> Response:
        try:
            who, grant = await _grant_for(door, email.strip(), password, directory, _client_address(request))
        except ApiProblem as problem:
            return sign_in_page(next, email, problem.told, await door.providers(), directory)
        return _begin_session(console, request, who, grant, return_address(next))

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


def _begin_session(console: ConsoleContext, request: Request, who: str, grant: TokenGrant, where: str) -> Response:
    console.sessions.end(request.cookies.get(COOKIE))
    key, session = console.sessions.begin(who, grant)
    if session.grant.must_change:
        where = f"{PREFIX}/password?next={quote(where, safe='')}"
    return set_session_cookie(request, redirect_to(where), key, console.sessions.seconds)


async def _grant_for(
    door: SignInClient, login: str, password: str, directory: str, client: str | None
) -> tuple[str, TokenGrant]:
    """Who that is, and their tokens; of an account here where no directory was chosen."""
    if directory:
        return await door.login_by_directory(login, password, directory, client)
    return login, await door.login(login, password, client)


def _client_address(request: Request) -> str | None:
    """The address of who asks; what a proxy in front only calls one is not passed on."""
    try:
        return str(ip_address(request.client.host)) if request.client else None
    except ValueError:
        return None


def set_session_cookie(request: Request, answer: Response, key: str, seconds: float) -> Response:
    """The answer with the key of a session, which no other site can have sent."""
    age, secure = int(seconds), is_encrypted(request)
    answer.set_cookie(COOKIE, key, max_age=age, path=PREFIX, httponly=True, samesite="strict", secure=secure)
    return answer


def is_encrypted(request: Request) -> bool:
    """True where the browser came by https."""
    return request.headers.get("x-forwarded-proto", request.url.scheme).startswith("https")


def sign_in_page(
    next_: str,
    email: str,
    told: ProblemReport | None,
    providers: Sequence[SignInProvider] = (),
    directory: str | None = None,
) -> Response:
    """The form, with a choice of directories (`directory` is what was chosen), and a way to each provider."""
    directories = [one for one in providers if one.kind == "directory"]
    label, type_ = ("User name or e-mail", "text") if directories else ("E-mail", "email")
    form = _door_form(
        "sign-in",
        next_,
        "Sign in",
        *([_directory_choice(directories, directory)] if directories else []),
        _form_field(label, "email", type_, "username", email, first=not email),
        _form_field("Password", "password", "password", "current-password", first=bool(email)),
    )
    query = f"&next={quote(return_address(next_), safe='')}"
    links = [
        tag("a", f"Sign in with {one.title}", href=f"{PREFIX}/sso/start?provider={one.name}{query}", class_="provider")
        for one in providers
        if one.kind == "oidc"
    ]
    return form_page("Sign in", "Your organisation's documents, agents and their runs.", told, join_html(form, *links))


def _directory_choice(directories: Sequence[SignInProvider], chosen: str | None) -> SafeHtml:
    """Whose password it is; that of a directory unless something else was chosen."""
    names = [(one.name, one.title) for one in directories] + [("", f"An account of {NAME}")]
    chosen = directories[0].name if chosen is None else chosen
    options = [tag("option", title, value=name, selected=name == chosen) for name, title in names]
    return tag("label", tag("span", "Account"), tag("select", options, name="directory"))


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
        return form_page("Choose your password", about, told, form)
    about = "Every other session of yours ends with it at once. API keys go on: revoke those that you do not know."
    back = tag("p", tag("a", "Keep the present one", href=return_address(next_)))
    return form_page("Change your password", about, told, join_html(form, back))


def _door_form(path: str, next_: str, send: str, *inside: SafeHtml) -> SafeHtml:
    back = tag("input", type="hidden", name="next", value=return_address(next_))
    return tag("form", inside, back, tag("button", send), method="post", action=f"{PREFIX}/{path}")


def _form_field(label: str, name: str, type_: str, autocomplete: str, value: str = "", first: bool = False) -> SafeHtml:
    typed = {"name": name, "type": type_, "autocomplete": autocomplete, "value": value}
    box = tag("input", **typed, required=True, autofocus=first, maxlength=1000)
    return tag("label", tag("span", label), box)


def form_page(title: str, about: str, told: ProblemReport | None, form: SafeHtml) -> Response:
    """A small page of our own, with the card of a problem where there is one."""
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
