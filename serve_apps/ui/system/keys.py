"""API keys for machines: made and shown once, and ended."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, link, table
from serve_apps.ui.kit.formats import moment
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import Form, grid, once
from serve_apps.ui.system.section import Done, Query, Section, Values, address, at, good, route

PAGE_OF: Final = 50
ADD, REVOKE = Form("keys.add"), Form("keys.revoke")
SHOWN: Final = "It is shown this once. Programs send it as `Authorization: Bearer …`."


async def show(api: Api, asked: Query) -> Html:
    """The own keys; an administrator sees everybody's."""
    skip = at(asked)
    items = (await api.get("/api/api-keys", skip=skip, limit=PAGE_OF + 1))["items"]
    owners = await _owners(api) if api.session.role.reaches(Role.ADMIN) else {}
    return join(listing(items[:PAGE_OF], owners, skip, len(items) > PAGE_OF), adding(api.session.role))


async def _owners(api: Api) -> Mapping[str, str]:
    people = await api.get("/api/users", limit=1000)
    return {one["id"]: one["email"] for one in people["items"]}


def listing(items: Sequence[Mapping[str, Any]], owners: Mapping[str, str], skip: int, more: bool) -> Html:
    """Keys without their secrets, each with its end."""
    if not items and not skip:
        todo = "Make one below for a program that uses the API."
        return card("API keys", empty("There is no API key.", todo))
    rows = [
        (
            tag("b", one["name"]),
            tag("code", one["prefix"] + "…"),
            badge(one["role"]),
            owners.get(one["user_id"], "you" if not owners else "somebody who left"),
            moment(one["created_at"]),
            moment(one["last_used_at"], relative=True) if one["last_used_at"] else "never",
            REVOKE.confirmed(
                "Revoke …", "Programs that use it are refused at once.", "Revoke", id=one["id"], name=one["name"]
            ),
        )
        for one in items
    ]
    shown = table(("Name", "Begins with", "Role", "Of", "Made", "Last used", ""), rows)
    back = link("← Earlier", address("keys", skip=max(0, skip - PAGE_OF))) if skip else None
    on = link("Further →", address("keys", skip=skip + PAGE_OF)) if more else None
    return card("API keys", shown, tag("nav", back, on, class_="aos-pager", aria_label="Pages of the list"))


def adding(mine: Role) -> Html:
    """The form for another; never with more rights than its owner."""
    roles = tuple((role.value, role.value) for role in Role if mine.reaches(role))
    form = ADD(
        grid(
            ADD.text("name", "Name", required=True, about="What will use it."),
            ADD.choice("role", "Role", roles, "viewer", about="As few rights as it needs; never more than yours."),
        ),
        send="Make the key",
        colour="primary",
    )
    return card("Make a key", form)


async def add(api: Api, values: Values) -> Done:
    """Make one."""
    made = await api.post("/api/api-keys", {"name": values.get("name", ""), "role": values.get("role")})
    return Done(good(once(f"API key {made['name']}", made["key"], SHOWN)))


async def revoke(api: Api, values: Values) -> Done:
    """End one."""
    await api.delete(route("api-keys", values["id"]))
    return Done(good(f"The key {values.get('name', '')} is ended."))


SECTION = Section("keys", "API keys", Role.DEVELOPER, show, {ADD.act: add, REVOKE.act: revoke})
