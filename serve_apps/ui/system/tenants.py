"""Workspaces that one belongs to, and tenants below one's own."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import card_columns, data_table, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, secret_shown_once
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    page_address,
    tenant_admin,
)

PAGE_OF: Final = 50
WORKSPACE, TENANT = ActForm("tenants.workspace"), ActForm("tenants.tenant")
ERASE_WORKSPACE, ERASE_TENANT = ActForm("tenants.erase-workspace"), ActForm("tenants.erase-tenant")
FIRST: Final = "It is for the first sign-in only and shown this once."


async def _show_tenants(api: SessionApi, asked: Query) -> SafeHtml:
    skip = query_int(asked)
    spaces = (await api.get("/api/workspaces", skip=skip, limit=PAGE_OF + 1))["items"]
    here = api.session.place.id if api.session.place else ""
    listed = _workspace_list(spaces, here, skip)
    if not await tenant_admin(api):
        return listed
    below = (await api.get("/api/tenants", limit=1000))["items"]
    others = [(one["id"], one["name"]) for one in spaces if one["id"] != here]
    children = [(one["id"], one["name"]) for one in below if one["parent_id"] is not None and one is not below[0]]
    lists, new = card_columns(listed, _tenant_list(below)), card_columns(_new_workspace(), _new_tenant())
    about = "Its documents, agents, conversations and keys go."
    erase = _erase_form(ERASE_WORKSPACE, "Delete a workspace", about, others)
    erase_tenant = _erase_form(ERASE_TENANT, "Delete a tenant", "Its workspaces and people go, too.", children)
    return join_html(lists, new, card_columns(erase, erase_tenant))


def _workspace_list(items: Sequence[Record], here: str, skip: int) -> SafeHtml:
    rows = []
    for one in items[:PAGE_OF]:
        mark = state_badge("you are here", "blue") if one["id"] == here else None
        name = join_html(tag("b", one["name"]), " ", mark)
        rows.append((name, state_badge(one["role"]), format_moment(one["created_at"])))
    about = quiet_text("Those you belong to. Choose one in the bar above.")
    back = link_to("← Earlier", page_address("tenants", skip=max(0, skip - PAGE_OF))) if skip else None
    on = link_to("Further →", page_address("tenants", skip=skip + PAGE_OF)) if len(items) > PAGE_OF else None
    pages = tag("nav", back, on, class_="aos-pager", aria_label="Pages of the list") if back or on else None
    return titled_card("Workspaces", about, data_table(("Name", "Your role", "Since"), rows), pages)


def _tenant_list(items: Sequence[Record]) -> SafeHtml:
    known = {one["id"]: one["name"] for one in items}
    rows = []
    for one in items:
        below = known.get(one["parent_id"], "") if one["parent_id"] else state_badge("yours", "blue")
        rows.append((tag("b", one["name"]), below, format_moment(one["created_at"])))
    about = quiet_text("Tenants see nothing of each other.")
    return titled_card("Tenants", about, data_table(("Name", "Below", "Since"), rows))


def _new_workspace() -> SafeHtml:
    form = WORKSPACE(WORKSPACE.text("name", "Name", required=True), send="Make the workspace")
    return titled_card("New workspace", quiet_text("Documents, agents and runs of their own; you administer it."), form)


def _new_tenant() -> SafeHtml:
    name = TENANT.text("name", "Name", required=True)
    email = TENANT.text("admin_email", "E-mail of its administrator", kind="email", required=True)
    form = TENANT(name, email, send="Make the tenant")
    return titled_card("New tenant", quiet_text("With a workspace “default” and an administrator of its own."), form)


def _erase_form(form: ActForm, title: str, about: str, those: Sequence[tuple[str, str]]) -> SafeHtml | None:
    """For good: which one is chosen, and its name typed."""
    if not those:
        return None
    which, name = form.choice("id", "Which", those), form.text("confirm", "Its name, to be sure", required=True)
    shown = form(which, name, send="Delete it for good", colour="danger")
    return titled_card(title, quiet_text(about, " This cannot be undone; the audit trail stays."), shown)


async def _erase_workspace(api: SessionApi, values: Values) -> ActResult:
    return await _erase_and_report(api, api_route("workspaces", values.get("id", "")), values)


async def _erase_tenant(api: SessionApi, values: Values) -> ActResult:
    return await _erase_and_report(api, api_route("tenants", values.get("id", "")), values)


async def _erase_and_report(api: SessionApi, path: str, values: Values) -> ActResult:
    gone = await api.delete(path, confirm=values.get("confirm", "") or "-")
    await api.look_around()
    documents = sum(one["documents"] for one in gone["workspaces"])
    return act_done(tag("strong", gone["name"]), f" is deleted, with {documents} documents.")


async def _add_workspace(api: SessionApi, values: Values) -> ActResult:
    made = await api.post("/api/workspaces", {"name": values.get("name", "")})
    await api.look_around()
    return act_done(tag("strong", made["name"]), " is made. The bar offers it from the next page on.")


async def _add_tenant(api: SessionApi, values: Values) -> ActResult:
    sent = {name: values.get(name, "") for name in ("name", "admin_email")}
    made = await api.post("/api/tenants", sent)
    if made["password"] is None:
        return act_done(tag("strong", made["name"]), " is made.")
    return act_done(secret_shown_once(f"First password of {sent['admin_email']}", made["password"], FIRST))


SECTION = SystemSection(
    "tenants",
    "Workspaces",
    Role.VIEWER,
    _show_tenants,
    {
        WORKSPACE.act: _add_workspace,
        TENANT.act: _add_tenant,
        ERASE_WORKSPACE.act: _erase_workspace,
        ERASE_TENANT.act: _erase_tenant,
    },
)
