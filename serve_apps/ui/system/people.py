"""People: who belongs to the workspace and with which role, first passwords, and who may not sign in any more."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, fact_list, field_grid, query_form, secret_shown_once
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    missing_problem,
    page_address,
    page_query,
    success_note,
    tenant_admin,
)

PAGE_OF: Final = 50
ADD, CHANGE, RESET = ActForm("people.add"), ActForm("people.change"), ActForm("people.reset")
LEAVE, SWITCH, SIGN_OUT = ActForm("people.leave"), ActForm("people.switch"), ActForm("people.sign-out")
UNLINK = ActForm("people.unlink")
MAY: Final = {
    "viewer": "reads, searches, asks and chats",
    "developer": "also uploads documents and makes API keys",
    "operator": "also runs everything with agents, documents and jobs",
    "admin": "also people, credentials and settings",
}
ROLES: Final = tuple((role.value, f"{role.value}: {MAY[role.value]}") for role in Role)
SAME: Final = ("", "stays as it is")
FIRST: Final = "It is for the first sign-in only and shown this once. Hand it over on a safe way."
User = Record


async def _show_people(api: SessionApi, asked: Query) -> SafeHtml:
    changes = await tenant_admin(api)
    if "who" in asked:
        one = await _find_person(api, asked["who"])
        links = (await api.get(api_route("users", one["id"], "links")))["items"] if changes else []
        return join_html(_person_view(one, api.session.email, changes), link_list(one, links))
    if "new" in asked:
        return titled_card("Add somebody", _new_person_form())
    everywhere = "true" if asked.get("everywhere") and changes else None
    body = await api.get("/api/users", q=asked.get("q"), everywhere=everywhere, skip=query_int(asked), limit=PAGE_OF)
    return _people_list(body, asked, changes)


def _people_list(body: Record, asked: Query, changes: bool) -> SafeHtml:
    search = ActForm("people.filter").text("q", "Part of the e-mail", asked.get("q", ""), kind="search")
    places = (("", "this workspace"), ("true", "the whole tenant"))
    whole = ActForm("people.filter").choice("everywhere", "Of", places, asked.get("everywhere", ""))
    new = action_link("Add somebody", page_address("people", new=1)) if changes else None
    bar = query_form("people", search, whole if changes else None)
    if not body["items"]:
        nobody = empty_state("Nobody is called like this.", "Look for a shorter part of the address.")
        return titled_card("People", bar, nobody, aside=new)
    rows = []
    for one in body["items"]:
        link, here = link_to(one["email"], page_address("people", who=one["email"])), one["role"] or "not a member"
        roles = state_badge(here), state_badge(one["tenant_role"])
        rows.append((link, *roles, _state_badge(one), format_moment(one["created_at"])))
    kept = page_address("people", q=asked.get("q"), everywhere=asked.get("everywhere"))
    paged = list_pager(kept, query_int(asked), PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    about = None if changes else quiet_text("An administrator of the tenant adds and changes people.")
    shown = data_table(("E-mail", "Role here", "In the tenant", "State", "Since"), rows)
    return titled_card("People", about, bar, shown, paged, aside=new)


def _state_badge(one: User) -> SafeHtml:
    if one["disabled"]:
        return state_badge("disabled", "red")
    return state_badge("first password", "amber") if one["must_change_password"] else state_badge("active")


def _new_person_form() -> SafeHtml:
    fields = field_grid(
        ADD.text("email", "E-mail", kind="email", required=True),
        ADD.choice("role", "Role in this workspace", ROLES, "viewer"),
        ADD.choice("tenant_role", "Role across the tenant", (("", "viewer, or as it is"), *ROLES)),
        ADD.text("password", "First password", kind="password", about="Left empty, one is made and shown once."),
    )
    return ADD(fields, send="Add")


def _person_view(one: User, mine: str, changes: bool) -> SafeHtml:
    back = link_to("← All people", page_address("people"))
    here, across = one["role"] or "not a member", one["tenant_role"]
    facts = (("Role here", here), ("Across the tenant", across), ("Since", format_moment(one["created_at"])))
    known = fact_list((("State", _state_badge(one)), *facts, ("Comes by", one.get("provider") or "hand")))
    head = titled_card(one["email"], known, aside=state_badge("this is you", "blue") if one["email"] == mine else None)
    if not changes:
        return join_html(back, head)
    id_ = {"id": one["id"], "email": one["email"]}
    choices = ROLES if one["role"] else (SAME, *ROLES)
    here = CHANGE.choice("role", "Role in this workspace", choices, one["role"] or "")
    across = CHANGE.choice("tenant_role", "Role across the tenant", ROLES, one["tenant_role"])
    roles = CHANGE(field_grid(here, across), send="Save the roles", changed=True, **id_)
    about = (
        "Every session ends at once, running streams within five seconds, and API keys made in a session of the last "
        "weeks are revoked and named. A new first password is made and shown once."
    )
    reset = RESET.confirmed("Reset the password …", about, "Reset it", **id_)
    about = "As above, but API keys go on: for somebody who has only forgotten the password."
    keeping = RESET.confirmed("Reset it, keep API keys …", about, "Reset, keep keys", keep_keys="true", **id_)
    access = tag("div", reset, keeping, _access_actions(one, id_), class_="aos-row")
    return join_html(back, head, titled_card("Roles", roles), titled_card("Access", access))


def link_list(one: User, links: Sequence[Record]) -> SafeHtml | None:
    """Card of the sources that somebody comes from, each with its end; none where there are none."""
    if not links:
        return None
    rows = []
    for link in links:
        gave = [*link["workspaces"], *(f"group {name}" for name in link["groups"])]
        gave += [f"{link['tenant_role']} in the tenant"] if link["tenant_role"] else []
        last = format_moment(link["signed_in_at"]) if link["signed_in_at"] else "–"
        about = (
            f"What {link['provider']} gave lapses at once: {', '.join(gave) or 'nothing'}. Logins by it end, and API "
            "keys made in them are revoked. A next sign-in there links anew: to keep somebody out, disable them."
        )
        known = {"id": one["id"], "email": one["email"], "provider": link["provider"]}
        end = UNLINK.confirmed("Unlink …", about, "Unlink", **known)
        rows.append((link["provider"], tag("code", link["subject"]), last, ", ".join(gave) or "nothing", end))
    return titled_card("Comes from", data_table(("Source", "Is there", "Last sign-in", "Gave", ""), rows))


def _access_actions(one: User, id_: Mapping[str, str]) -> SafeHtml:
    stays = "They leave this workspace. Their account, and what they made, stays."
    leave = LEAVE.confirmed("Remove …", stays, "Remove", **id_)
    if one["disabled"]:
        return join_html(SWITCH.button("Let them sign in again", disabled="false", **id_), leave)
    about = "They are signed out at once, keys included."
    off = SWITCH.confirmed("Disable …", about, "Disable", disabled="true", **id_)
    ends = "Every session ends at once. Password and API keys stay as they are."
    out = SIGN_OUT.confirmed("Sign out …", ends, "Sign out", **id_)
    erase = link_to("Erase for good …", page_address("erasures", new=1, kind="person", which=one["email"]))
    return join_html(out, off, leave, erase)


async def _find_person(api: SessionApi, email: str) -> User:
    everywhere = "true" if await tenant_admin(api) else None
    found = await api.get("/api/users", q=email, everywhere=everywhere, limit=100)
    one = next((one for one in found["items"] if one["email"] == email), None)
    if one is None:
        raise missing_problem("person")
    return one


async def _add_person(api: SessionApi, values: Values) -> ActResult:
    made = await api.post("/api/users", {name: value for name, value in values.items() if value})
    if made["password"] is None:
        said = "was added." if made["fresh"] else "was in the tenant already and belongs to the workspace now."
        return act_done(tag("strong", made["email"]), " ", said, to=page_query("people"))
    first = secret_shown_once(f"First password of {made['email']}", made["password"], FIRST)
    return act_done(first, to=page_query("people"))


async def _change_roles(api: SessionApi, values: Values) -> ActResult:
    roles = {name: values[name] for name in ("role", "tenant_role") if values.get(name)}
    if not roles:
        return ActResult(empty_state("Nothing was changed.", "Choose another role first."))
    after = await api.patch(api_route("users", values["id"]), roles)
    return act_done(f"{after['email']} is {after['role'] or 'no member'} here, {after['tenant_role']} in the tenant.")


async def _set_sign_in(api: SessionApi, values: Values) -> ActResult:
    after = await api.patch(api_route("users", values["id"]), {"disabled": values.get("disabled") == "true"})
    return act_done(f"{after['email']} {'is disabled and signed out' if after['disabled'] else 'may sign in again'}.")


async def _reset_password(api: SessionApi, values: Values) -> ActResult:
    keep = values.get("keep_keys") == "true"
    made = await api.post(api_route("users", values["id"], "password"), {"keep_keys": keep})
    shown = success_note(secret_shown_once(f"First password of {made['email']}", made["password"] or "", FIRST))
    revoked = _key_table("These API keys were revoked", made["revoked_keys"])
    return ActResult(join_html(shown, revoked, _key_table("These API keys go on", made["kept_keys"])))


def _key_table(title: str, keys: Sequence[Record]) -> SafeHtml | None:
    if not keys:
        return None
    rows = []
    for one in keys:
        used = format_moment(one["last_used_at"]) if one["last_used_at"] else "never"
        name, made = (one["name"], f"aos_{one['prefix']}_…"), format_moment(one["created_at"])
        rows.append((*name, state_badge(one["role"]), made, used))
    return titled_card(title, data_table(("Name", "Begins with", "Role", "Made", "Last used"), rows))


async def _sign_out(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("users", values["id"], "sessions"))
    return act_done(f"{values.get('email', 'This person')} is signed out everywhere; password and API keys stay.")


async def _unlink(api: SessionApi, values: Values) -> ActResult:
    done = await api.delete(api_route("users", values["id"], "links", values["provider"]))
    said = f"{values.get('email', 'This person')} is linked to {values['provider']} no more."
    revoked = _key_table("These API keys were revoked", done["revoked_keys"])
    return ActResult(join_html(success_note(f"{said} {done['ended_sessions']} logins by it have ended."), revoked))


async def _remove_member(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("users", values["id"]))
    who = values.get("email", "This person")
    return act_done(f"{who} does not belong to this workspace any more.", to=page_query("people"))


SECTION = SystemSection(
    "people",
    "People",
    Role.ADMIN,
    _show_people,
    {
        ADD.act: _add_person,
        CHANGE.act: _change_roles,
        SWITCH.act: _set_sign_in,
        SIGN_OUT.act: _sign_out,
        RESET.act: _reset_password,
        LEAVE.act: _remove_member,
        UNLINK.act: _unlink,
    },
)
