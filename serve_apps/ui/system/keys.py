"""API keys for machines: made and shown once, and ended."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_card, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, field_grid, secret_shown_once
from serve_apps.ui.system.section import ActResult, Query, SystemSection, Values, act_done, api_route, page_address

PAGE_OF: Final = 50
ADD, REVOKE = ActForm("keys.add"), ActForm("keys.revoke")
SHOWN: Final = "It is shown this once. Programs send it as `Authorization: Bearer …`."


async def _show_keys(api: SessionApi, asked: Query) -> SafeHtml:
    skip = query_int(asked)
    items = (await api.get("/api/api-keys", skip=skip, limit=PAGE_OF + 1))["items"]
    owners: dict[str, str] = {}
    if api.session.role.reaches(Role.ADMIN):
        people = await api.get("/api/users", limit=1000)
        owners = {one["id"]: one["email"] for one in people["items"]}
    return join_html(_key_list(items[:PAGE_OF], owners, skip, len(items) > PAGE_OF), _new_key_form(api.session.role))


def _key_list(items: Sequence[Record], owners: Mapping[str, str], skip: int, more: bool) -> SafeHtml:
    if not items and not skip:
        return empty_card("API keys", "There is no API key.", "Make one below for a program that uses the API.")
    rows = []
    for one in items:
        acts = tag("small", "acts for people") if one["may_impersonate"] else None
        name, begin, role = tag("b", one["name"]), tag("code", one["prefix"] + "…"), state_badge(one["role"])
        owner = owners.get(one["user_id"], "you" if not owners else "somebody who left")
        used = format_moment(one["last_used_at"], relative=True) if one["last_used_at"] else "never"
        about, id_ = "Programs that use it are refused at once.", {"id": one["id"], "name": one["name"]}
        revoke = REVOKE.confirmed("Revoke …", about, "Revoke", **id_)
        rows.append(
            (
                join_html(name, " ", acts) if acts else name,
                begin,
                role,
                owner,
                format_moment(one["created_at"]),
                used,
                revoke,
            )
        )
    shown = data_table(("Name", "Begins with", "Role", "Of", "Made", "Last used", ""), rows)
    back = link_to("← Earlier", page_address("keys", skip=max(0, skip - PAGE_OF))) if skip else None
    on = link_to("Further →", page_address("keys", skip=skip + PAGE_OF)) if more else None
    return titled_card("API keys", shown, tag("nav", back, on, class_="aos-pager", aria_label="Pages of the list"))


def _new_key_form(mine: Role) -> SafeHtml:
    roles = tuple((role.value, role.value) for role in Role if mine.reaches(role))
    name = ADD.text("name", "Name", required=True, about="What will use it.")
    least = "As few rights as it needs; never more than yours."
    fields = [name, ADD.choice("role", "Role", roles, "viewer", about=least)]
    if mine.reaches(Role.ADMIN):
        about = "For a front end such as Open WebUI: members whom its X-OpenWebUI-User-Email names, and nobody else."
        fields.append(ADD.switch("may_impersonate", "Acts for people", about=about))
    return titled_card("Make a key", ADD(field_grid(*fields), send="Make the key"))


async def _add_key(api: SessionApi, values: Values) -> ActResult:
    wanted = {"name": values.get("name", ""), "role": values.get("role")}
    made = await api.post("/api/api-keys", wanted | {"may_impersonate": values.get("may_impersonate") == "true"})
    return act_done(secret_shown_once(f"API key {made['name']}", made["key"], SHOWN))


async def _revoke_key(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("api-keys", values["id"]))
    return act_done(f"The key {values.get('name', '')} is ended.")


SECTION = SystemSection("keys", "API keys", Role.DEVELOPER, _show_keys, {ADD.act: _add_key, REVOKE.act: _revoke_key})
