"""Workspaces that one belongs to, and tenants below one's own."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, columns, link, table
from serve_apps.ui.kit.formats import moment
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import Form, once
from serve_apps.ui.system.section import Done, Query, Section, Values, address, at, good, route, tenant_admin

PAGE_OF: Final = 50
WORKSPACE, TENANT = Form("tenants.workspace"), Form("tenants.tenant")
ERASE_WORKSPACE, ERASE_TENANT = Form("tenants.erase-workspace"), Form("tenants.erase-tenant")
FIRST: Final = "It is for the first sign-in only and shown this once."


async def show(api: Api, asked: Query) -> Html:
    """Lists, and forms for who may use them."""
    skip = at(asked)
    spaces = (await api.get("/api/workspaces", skip=skip, limit=PAGE_OF + 1))["items"]
    here = api.session.place.id if api.session.place else ""
    listed = workspaces(spaces, here, skip)
    if not await tenant_admin(api):
        return listed
    below = (await api.get("/api/tenants", limit=1000))["items"]
    others = [(one["id"], one["name"]) for one in spaces if one["id"] != here]
    children = [(one["id"], one["name"]) for one in below if one["parent_id"] is not None and one is not below[0]]
    return join(
        columns(listed, tenants(below)),
        columns(_new_workspace(), _new_tenant()),
        columns(
            _erase(ERASE_WORKSPACE, "Delete a workspace", "Its documents, agents, conversations and keys go.", others),
            _erase(ERASE_TENANT, "Delete a tenant", "Its workspaces and people go, too.", children),
        ),
    )


def workspaces(items: Sequence[Mapping[str, Any]], here: str, skip: int) -> Html:
    """Table of the user's workspaces; the bar above chooses among them."""
    rows = [
        (
            join(tag("b", one["name"]), " ", badge("you are here", "blue") if one["id"] == here else None),
            badge(one["role"]),
            moment(one["created_at"]),
        )
        for one in items[:PAGE_OF]
    ]
    about = tag("p", "Those you belong to. Choose one in the bar above.", class_="quiet")
    back = link("← Earlier", address("tenants", skip=max(0, skip - PAGE_OF))) if skip else None
    on = link("Further →", address("tenants", skip=skip + PAGE_OF)) if len(items) > PAGE_OF else None
    pages = tag("nav", back, on, class_="aos-pager", aria_label="Pages of the list") if back or on else None
    return card("Workspaces", about, table(("Name", "Your role", "Since"), rows), pages)


def tenants(items: Sequence[Mapping[str, Any]]) -> Html:
    """The own one, and those made below it."""
    known = {one["id"]: one["name"] for one in items}
    rows = [
        (
            tag("b", one["name"]),
            known.get(one["parent_id"], "") if one["parent_id"] else badge("yours", "blue"),
            moment(one["created_at"]),
        )
        for one in items
    ]
    about = tag("p", "Tenants see nothing of each other.", class_="quiet")
    return card("Tenants", about, table(("Name", "Below", "Since"), rows))


def _new_workspace() -> Html:
    form = WORKSPACE(WORKSPACE.text("name", "Name", required=True), send="Make the workspace", colour="primary")
    return card(
        "New workspace", tag("p", "Documents, agents and runs of their own; you administer it.", class_="quiet"), form
    )


def _new_tenant() -> Html:
    form = TENANT(
        TENANT.text("name", "Name", required=True),
        TENANT.text("admin_email", "E-mail of its administrator", kind="email", required=True),
        send="Make the tenant",
        colour="primary",
    )
    return card(
        "New tenant", tag("p", "With a workspace “default” and an administrator of its own.", class_="quiet"), form
    )


def _erase(form: Form, title: str, about: str, those: Sequence[tuple[str, str]]) -> Html | None:
    """For good: which one is chosen, and its name typed."""
    if not those:
        return None
    return card(
        title,
        tag("p", about, " This cannot be undone; the audit trail stays.", class_="quiet"),
        form(
            form.choice("id", "Which", those),
            form.text("confirm", "Its name, to be sure", required=True),
            send="Delete it for good",
            colour="danger",
        ),
    )


async def erase_workspace(api: Api, values: Values) -> Done:
    """A workspace of the own tenant, with all that is in it."""
    return await _erased(api, route("workspaces", values.get("id", "")), values)


async def erase_tenant(api: Api, values: Values) -> Done:
    """A tenant below the own one, with all that is in it."""
    return await _erased(api, route("tenants", values.get("id", "")), values)


async def _erased(api: Api, path: str, values: Values) -> Done:
    gone = await api.delete(path, confirm=values.get("confirm", "") or "-")
    await api.look_around()
    documents = sum(one["documents"] for one in gone["workspaces"])
    return Done(good(tag("strong", gone["name"]), f" is deleted, with {documents} documents."))


async def add_workspace(api: Api, values: Values) -> Done:
    """A workspace of the own tenant."""
    made = await api.post("/api/workspaces", {"name": values.get("name", "")})
    await api.look_around()
    return Done(good(tag("strong", made["name"]), " is made. The bar offers it from the next page on."))


async def add_tenant(api: Api, values: Values) -> Done:
    """A tenant below the own one."""
    sent = {name: values.get(name, "") for name in ("name", "admin_email")}
    made = await api.post("/api/tenants", sent)
    if made["password"] is None:
        return Done(good(tag("strong", made["name"]), " is made."))
    return Done(good(once(f"First password of {sent['admin_email']}", made["password"], FIRST)))


SECTION = Section(
    "tenants",
    "Workspaces",
    Role.VIEWER,
    show,
    {
        WORKSPACE.act: add_workspace,
        TENANT.act: add_tenant,
        ERASE_WORKSPACE.act: erase_workspace,
        ERASE_TENANT.act: erase_tenant,
    },
)
