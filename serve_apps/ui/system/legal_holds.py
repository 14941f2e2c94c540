"""Legal holds: objects that have to stay, put and released with a reason."""

from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, field_grid
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    find_subject,
    page_address,
    page_query,
    tenant_admin,
    tenant_only,
)

PAGE_OF: Final = 50
PUT, RELEASE = ActForm("holds.put"), ActForm("holds.release")
KINDS: Final = (("document", "a document"), ("person", "a person"), ("workspace", "a workspace"))
ABOUT: Final = "What is held is not deleted, erased or overwritten, whoever asks, until every hold on it is released."


async def _show_holds(api: SessionApi, asked: Query) -> SafeHtml:
    if not await tenant_admin(api):
        return tenant_only("Holds")
    if "new" in asked:
        return titled_card("Hold something", _new_hold_form())
    found = await api.get("/api/legal-holds", skip=query_int(asked), limit=PAGE_OF)
    return _hold_list(found, asked)


def _hold_list(body: Record, asked: Query) -> SafeHtml:
    new, about = action_link("Hold something", page_address("holds", new=1)), quiet_text(ABOUT)
    if not body["items"]:
        return titled_card("Legal holds", about, empty_state("Nothing is held.", "Hold what must not go."), aside=new)
    rows = []
    for one in body["items"]:
        what = tag("span", f"{one['kind']} ", tag("code", one["object_id"]))
        by = one["held_by_email"] or one["held_by"]
        if one["released_at"]:
            who = one["released_by_email"] or one["released_by"]
            state = join_html(state_badge("released"), f" {format_moment(one['released_at'])}, {who}")
            act = one["release_reason"]
        else:
            state, act = state_badge("held", "red"), _release_form(one)
        rows.append((one["name"], what, one["reason"], f"{format_moment(one['held_at'])}, {by}", state, act))
    heads = ("Name", "What", "Why", "Since, by", "State", "")
    paged = None
    if body["total"] > PAGE_OF:
        paged = list_pager(page_address("holds"), query_int(asked), PAGE_OF, body["total"])
    return titled_card("Legal holds", about, data_table(heads, rows), paged, aside=new)


def _new_hold_form() -> SafeHtml:
    fields = field_grid(
        PUT.choice("kind", "What", KINDS, "document"),
        PUT.text("object_id", "Which", required=True, about="A document's address or id, an e-mail address, a name."),
        PUT.text("name", "Name", required=True, about="Such as the number of a case."),
        PUT.text("reason", "Why", required=True),
    )
    return PUT(fields, send="Hold it")


def _release_form(one: Record) -> SafeHtml:
    form = RELEASE(RELEASE.text("reason", "Why", required=True), send="Release", colour="danger", hold=one["id"])
    return tag("details", tag("summary", "Release …", class_="aos-button"), form, class_="aos-confirm")


async def _put_hold(api: SessionApi, values: Values) -> ActResult:
    sent = {name: values.get(name, "").strip() for name in ("kind", "object_id", "name", "reason")}
    sent["object_id"] = await find_subject(api, sent["kind"], sent["object_id"])
    made = await api.post("/api/legal-holds", sent)
    return act_done(tag("strong", made["name"]), " stands.", to=page_query("holds"))


async def _release_hold(api: SessionApi, values: Values) -> ActResult:
    made = await api.post(api_route("legal-holds", values["hold"], "release"), {"reason": values.get("reason", "")})
    return act_done(tag("strong", made["name"]), " is released.", to=page_query("holds"))


SECTION = SystemSection("holds", "Holds", Role.ADMIN, _show_holds, {PUT.act: _put_hold, RELEASE.act: _release_hold})
