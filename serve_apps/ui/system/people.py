"""People: who belongs to the workspace and with which role, first passwords, and who may not sign in any more."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, link, pager, table
from serve_apps.ui.kit.formats import moment
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import Form, action, facts, filters, grid, once
from serve_apps.ui.system.section import (
    Done,
    Query,
    Section,
    Values,
    address,
    at,
    good,
    missing,
    query,
    route,
    tenant_admin,
)

PAGE_OF: Final = 50
ADD, CHANGE, RESET = Form("people.add"), Form("people.change"), Form("people.reset")
LEAVE, SWITCH, SIGN_OUT = Form("people.leave"), Form("people.switch"), Form("people.sign-out")
MAY: Final = {
    "viewer": "reads, searches, asks and chats",
    "developer": "also uploads documents and makes API keys",
    "operator": "also runs everything with agents, documents and jobs",
    "admin": "also people, credentials and settings",
}
ROLES: Final = tuple((role.value, f"{role.value}: {MAY[role.value]}") for role in Role)
SAME: Final = ("", "stays as it is")
FIRST: Final = "It is for the first sign-in only and shown this once. Hand it over on a safe way."
User = Mapping[str, Any]


async def show(api: Api, asked: Query) -> Html:
    """One person, the form for another, or the list."""
    changes = await tenant_admin(api)
    if "who" in asked:
        return person(await _find(api, asked["who"]), api.session.email, changes)
    if "new" in asked:
        return card("Add somebody", adding())
    everywhere = "true" if asked.get("everywhere") and changes else None
    body = await api.get("/api/users", q=asked.get("q"), everywhere=everywhere, skip=at(asked), limit=PAGE_OF)
    return listing(body, asked, changes)


def listing(body: Mapping[str, Any], asked: Query, changes: bool) -> Html:
    """Everybody, a page at a time."""
    search = Form("people.filter").text("q", "Part of the e-mail", asked.get("q", ""), kind="search")
    whole = Form("people.filter").choice(
        "everywhere", "Of", (("", "this workspace"), ("true", "the whole tenant")), asked.get("everywhere", "")
    )
    new = action("Add somebody", address("people", new=1)) if changes else None
    bar = filters("people", search, whole if changes else None)
    if not body["items"]:
        return card(
            "People", bar, empty("Nobody is called like this.", "Look for a shorter part of the address."), aside=new
        )
    rows = [
        (
            link(one["email"], address("people", who=one["email"])),
            badge(one["role"] or "not a member"),
            badge(one["tenant_role"]),
            _state(one),
            moment(one["created_at"]),
        )
        for one in body["items"]
    ]
    kept = address("people", q=asked.get("q"), everywhere=asked.get("everywhere"))
    paged = pager(kept, at(asked), PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    about = None if changes else tag("p", "An administrator of the tenant adds and changes people.", class_="quiet")
    shown = table(("E-mail", "Role here", "In the tenant", "State", "Since"), rows)
    return card("People", about, bar, shown, paged, aside=new)


def _state(one: User) -> Html:
    if one["disabled"]:
        return badge("disabled", "red")
    return badge("first password", "amber") if one["must_change_password"] else badge("active")


def adding() -> Html:
    """The form for somebody new."""
    return ADD(
        grid(
            ADD.text("email", "E-mail", kind="email", required=True),
            ADD.choice("role", "Role in this workspace", ROLES, "viewer"),
            ADD.choice("tenant_role", "Role across the tenant", (("", "viewer, or as it is"), *ROLES)),
            ADD.text("password", "First password", kind="password", about="Left empty, one is made and shown once."),
        ),
        send="Add",
        colour="primary",
    )


def person(one: User, mine: str, changes: bool) -> Html:
    """Somebody, with what can be done."""
    back = link("← All people", address("people"))
    known = facts(
        (
            ("State", _state(one)),
            ("Role here", one["role"] or "not a member"),
            ("Across the tenant", one["tenant_role"]),
            ("Since", moment(one["created_at"])),
        )
    )
    head = card(one["email"], known, aside=badge("this is you", "blue") if one["email"] == mine else None)
    if not changes:
        return join(back, head)
    id_ = {"id": one["id"], "email": one["email"]}
    roles = CHANGE(
        grid(
            CHANGE.choice(
                "role", "Role in this workspace", ROLES if one["role"] else (SAME, *ROLES), one["role"] or ""
            ),
            CHANGE.choice("tenant_role", "Role across the tenant", ROLES, one["tenant_role"]),
        ),
        send="Save the roles",
        colour="primary",
        changed=True,
        **id_,
    )
    reset = RESET.confirmed(
        "Reset the password …",
        "Every session ends at once, running streams within five seconds, and API keys made in a session of the last "
        "weeks are revoked and named. A new first password is made and shown once.",
        "Reset it",
        **id_,
    )
    keeping = RESET.confirmed(
        "Reset it, keep API keys …",
        "As above, but API keys go on: for somebody who has only forgotten the password.",
        "Reset, keep keys",
        keep_keys="true",
        **id_,
    )
    return join(
        back,
        head,
        card("Roles", roles),
        card("Access", tag("div", reset, keeping, _access(one, id_), class_="aos-row")),
    )


def _access(one: User, id_: Mapping[str, str]) -> Html:
    leave = LEAVE.confirmed(
        "Remove …", "They leave this workspace. Their account, and what they made, stays.", "Remove", **id_
    )
    if one["disabled"]:
        return join(SWITCH.button("Let them sign in again", disabled="false", **id_), leave)
    off = SWITCH.confirmed(
        "Disable …", "They are signed out at once, keys included.", "Disable", disabled="true", **id_
    )
    out = SIGN_OUT.confirmed(
        "Sign out …", "Every session ends at once. Password and API keys stay as they are.", "Sign out", **id_
    )
    return join(out, off, leave)


async def _find(api: Api, email: str) -> User:
    everywhere = "true" if await tenant_admin(api) else None
    found = await api.get("/api/users", q=email, everywhere=everywhere, limit=100)
    one = next((one for one in found["items"] if one["email"] == email), None)
    if one is None:
        raise missing("person")
    return one


async def add(api: Api, values: Values) -> Done:
    """Give somebody a role here."""
    made = await api.post("/api/users", {name: value for name, value in values.items() if value})
    if made["password"] is None:
        said = "was added." if made["fresh"] else "was in the tenant already and belongs to the workspace now."
        return Done(good(tag("strong", made["email"]), " ", said), query("people"))
    return Done(good(once(f"First password of {made['email']}", made["password"], FIRST)), query("people"))


async def change(api: Api, values: Values) -> Done:
    """Other roles."""
    roles = {name: values[name] for name in ("role", "tenant_role") if values.get(name)}
    if not roles:
        return Done(empty("Nothing was changed.", "Choose another role first."))
    after = await api.patch(route("users", values["id"]), roles)
    return Done(good(f"{after['email']} is {after['role'] or 'no member'} here, {after['tenant_role']} in the tenant."))


async def switch(api: Api, values: Values) -> Done:
    """Let somebody sign in, or not."""
    after = await api.patch(route("users", values["id"]), {"disabled": values.get("disabled") == "true"})
    return Done(good(f"{after['email']} {'is disabled and signed out' if after['disabled'] else 'may sign in again'}."))


async def reset(api: Api, values: Values) -> Done:
    """A new first password, and what became of the API keys."""
    keep = values.get("keep_keys") == "true"
    made = await api.post(route("users", values["id"], "password"), {"keep_keys": keep})
    shown = good(once(f"First password of {made['email']}", made["password"] or "", FIRST))
    return Done(
        join(
            shown,
            _keys("These API keys were revoked", made["revoked_keys"]),
            _keys("These API keys go on", made["kept_keys"]),
        )
    )


def _keys(title: str, keys: Sequence[Mapping[str, Any]]) -> Html | None:
    if not keys:
        return None
    rows = [
        (
            one["name"],
            f"aos_{one['prefix']}_…",
            badge(one["role"]),
            moment(one["created_at"]),
            moment(one["last_used_at"]) if one["last_used_at"] else "never",
        )
        for one in keys
    ]
    return card(title, table(("Name", "Begins with", "Role", "Made", "Last used"), rows))


async def sign_out(api: Api, values: Values) -> Done:
    """Every session of somebody ends."""
    await api.delete(route("users", values["id"], "sessions"))
    return Done(good(f"{values.get('email', 'This person')} is signed out everywhere; password and API keys stay."))


async def leave(api: Api, values: Values) -> Done:
    """Out of this workspace."""
    await api.delete(route("users", values["id"]))
    return Done(
        good(f"{values.get('email', 'This person')} does not belong to this workspace any more."), query("people")
    )


SECTION = Section(
    "people",
    "People",
    Role.ADMIN,
    show,
    {ADD.act: add, CHANGE.act: change, SWITCH.act: switch, SIGN_OUT.act: sign_out, RESET.act: reset, LEAVE.act: leave},
)
