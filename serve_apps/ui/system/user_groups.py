"""Groups: people whom documents may name together, made, filled and deleted."""

from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, field_grid, query_form
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
    tenant_admin,
)

PAGE_OF: Final = 50
ADD, DELETE = ActForm("groups.add"), ActForm("groups.delete")
JOIN, LEAVE = ActForm("groups.join"), ActForm("groups.leave")
ABOUT: Final = "A document may be for a group: group:<name> among its readers (aos documents readers ID)."


async def _show_groups(api: SessionApi, asked: Query) -> SafeHtml:
    changes = await tenant_admin(api)
    if "new" in asked:
        return titled_card("Make a group", _new_group_form())
    if "group" in asked:
        if not changes:
            raise missing_problem("group")
        found = await api.get(api_route("groups", asked["group"], "members"), skip=query_int(asked), limit=PAGE_OF)
        return _group_view(asked["group"], asked.get("name", "group"), found, asked)
    body = await api.get("/api/groups", q=asked.get("q"), skip=query_int(asked), limit=PAGE_OF)
    return _group_list(body, asked, changes)


def _group_list(body: Record, asked: Query, changes: bool) -> SafeHtml:
    new = action_link("Make a group", page_address("groups", new=1)) if changes else None
    search = ActForm("groups.filter").text("q", "Part of the name", asked.get("q", ""), kind="search")
    bar, about = query_form("groups", search), quiet_text(ABOUT)
    if not body["items"]:
        title = "No group is called like this." if asked.get("q") else "There are no groups yet."
        return titled_card("Groups", about, bar, empty_state(title, "Make one, and add its people."), aside=new)
    rows = []
    for one in body["items"]:
        address = page_address("groups", group=one["id"], name=one["name"])
        name = link_to(one["name"], address) if changes else one["name"]
        rows.append((name, one["members"], format_moment(one["created_at"])))
    kept = page_address("groups", q=asked.get("q"))
    paged = list_pager(kept, query_int(asked), PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    return titled_card("Groups", about, bar, data_table(("Name", "People", "Since"), rows), paged, aside=new)


def _new_group_form() -> SafeHtml:
    back = (("", "is refused if it was used before"), ("true", "brings back a group that was deleted"))
    fields = field_grid(
        ADD.text("name", "Name", required=True, about="In lower case; documents name it as group:<name>."),
        ADD.choice("restore", "A name of a deleted group", back, ""),
    )
    return ADD(fields, send="Make it")


def _group_view(group: str, name: str, body: Record, asked: Query) -> SafeHtml:
    back = link_to("← All groups", page_address("groups"))
    id_ = {"group": group, "name": name}
    join = JOIN(
        field_grid(JOIN.text("email", "E-mail", kind="email", required=True)),
        send="Add to the group",
        changed=False,
        **id_,
    )
    rows = []
    for one in body["items"]:
        about = "What only members of this group may read is gone for them at once."
        leave = LEAVE.confirmed("Remove …", about, "Remove", user=one["id"], email=one["email"], **id_)
        state = state_badge("disabled", "red") if one["disabled"] else state_badge("active")
        rows.append((one["email"], state, format_moment(one["added_at"]), leave))
    nobody = empty_state("Nobody belongs to it.", "Add somebody of the tenant by their e-mail address.")
    shown = data_table(("E-mail", "State", "Since", ""), rows) if rows else nobody
    kept = page_address("groups", group=group, name=name)
    paged = list_pager(kept, query_int(asked), PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    about = "Nobody reads anything as its member any more. Its name stays taken, as documents may still name it."
    delete = tag("div", DELETE.confirmed("Delete the group …", about, "Delete", **id_), class_="aos-row")
    return join_html(back, titled_card(name, shown, paged), titled_card("Add somebody", join), delete)


async def _add_group(api: SessionApi, values: Values) -> ActResult:
    made = await api.post("/api/groups", {"name": values.get("name", ""), "restore": values.get("restore") == "true"})
    to = page_query("groups", group=made["id"], name=made["name"])
    return act_done(tag("strong", made["name"]), " is there. Add its people.", to=to)


async def _delete_group(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("groups", values["group"]))
    return act_done(f"{values.get('name', 'The group')} is deleted.", to=page_query("groups"))


async def _join_group(api: SessionApi, values: Values) -> ActResult:
    email = values.get("email", "").strip().lower()
    found = await api.get("/api/users", q=email, everywhere="true", limit=100)
    one = next((one for one in found["items"] if one["email"] == email), None)
    if one is None:
        raise missing_problem("person")
    await api.put(api_route("groups", values["group"], "members", one["id"]), {})
    return act_done(f"{email} belongs to {values.get('name', 'the group')}.")


async def _leave_group(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("groups", values["group"], "members", values["user"]))
    who, group = values.get("email", "This person"), values.get("name", "the group")
    return act_done(f"{who} does not belong to {group} any more.")


SECTION = SystemSection(
    "groups",
    "Groups",
    Role.ADMIN,
    _show_groups,
    {ADD.act: _add_group, DELETE.act: _delete_group, JOIN.act: _join_group, LEAVE.act: _leave_group},
)
