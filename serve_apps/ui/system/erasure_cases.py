"""Erasures: what would go is counted first, then it goes for good; each with its receipt, and looked for again."""

import json
from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, field_grid
from serve_apps.ui.system.section import (
    DOCUMENT,
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
MOST: Final = 100  # at once from a form; more by `aos erasures run`
PLAN, ERASE, PROBE = ActForm("erasures.plan"), ActForm("erasures.run"), ActForm("erasures.probe")
REPLAY: Final = ActForm("erasures.replay")
KINDS: Final = (("document", "documents"), ("person", "people"))
WORD: Final = "erase"
DRY: Final = {"dry_run": "true"}
LONG_SECONDS: Final = 600.0
ERASED: Final = "Each has a signed receipt, without content."
FOR_GOOD: Final = "This cannot be undone. What is held refuses it, and then nothing goes."
RESTORED: Final = "After a backup was put back: what erasures on record had erased, and is here again, goes again."


async def _show_erasures(api: SessionApi, asked: Query) -> SafeHtml:
    if not await tenant_admin(api):
        return tenant_only("Erasures")
    if "receipt" in asked:
        found = await api.get(api_route("erasures", asked["receipt"], "receipt"))
        return receipt_view(asked["receipt"], found)
    if "ids" in asked:
        return plan_view(await api.post("/api/erasures", _body(asked), params=DRY))
    if "new" in asked:
        return titled_card("Erase something", quiet_text(FOR_GOOD), new_erasure_form(asked))
    return erasure_list(await api.get("/api/erasures", skip=query_int(asked), limit=PAGE_OF), asked)


def erasure_list(body: Record, asked: Query) -> SafeHtml:
    """Those on record, and how one is asked for."""
    about, new = quiet_text(ERASED), action_link("Erase something", page_address("erasures", new=1))
    if not body["items"]:
        nothing = empty_state("Nothing was erased yet.", "Documents or people; what would go is shown first.")
        return titled_card("Erasures", about, nothing, aside=new)
    rows = []
    for one in body["items"]:
        if one["done"]:
            finds = one["finds"]
            state = state_badge(f"{finds} found", "red") if finds else state_badge("nothing found", "green")
            next_ = link_to("Receipt", page_address("erasures", receipt=one["id"]))
        else:
            state, next_ = state_badge("not finished", "red"), _again_link(one)
        rows.append((format_moment(one["asked_at"]), one["kind"], len(one["subjects"]), one["reason"], state, next_))
    paged = None
    if body["total"] > PAGE_OF:
        paged = list_pager(page_address("erasures"), query_int(asked), PAGE_OF, body["total"])
    table = data_table(("When", "What", "How many", "Why", "Afterwards", ""), rows)
    again = REPLAY.confirmed("Erase again …", RESTORED, "Erase what came back")
    return titled_card("Erasures", about, table, paged, tag("div", again, class_="aos-row"), aside=new)


def _again_link(one: Record) -> SafeHtml:
    if len(one["subjects"]) > MOST:
        return quiet_text("Ask for the same again: aos erasures run.")
    asked = {"kind": one["kind"], "ids": ",".join(one["subjects"]), "reason": one["reason"]}
    return link_to("Go on with it", page_address("erasures", **asked))


def new_erasure_form(asked: Query) -> SafeHtml:
    """What is to go, and why; it only leads to what would go."""
    fields = field_grid(
        PLAN.choice("kind", "What", KINDS, asked.get("kind", "document")),
        PLAN.text("reason", "Why", required=True, about="On record for good: no names."),
    )
    about = "Addresses or ids of documents, or e-mail addresses of people, a line each."
    which = PLAN.area("which", "Which", asked.get("which", ""), about, rows=4)
    return PLAN(fields, which, send="Show what would go")


def plan_view(plan: Record) -> SafeHtml:
    """What would go, by place, and the way to let it go."""
    back = link_to("← All erasures", page_address("erasures"))
    rows = [(place, count) for place, count in sorted(plan["counts"].items())]
    shown = data_table(("Where", "Rows"), rows) if rows else empty_state("No row would go.", "It may have gone before.")
    asked = {"kind": plan["kind"], "ids": ",".join(plan["subjects"]), "reason": plan["reason"]}
    word = ERASE.text("word", f"Type {WORD} to be sure", required=True)
    form = ERASE(word, send="Erase it for good", colour="danger", **asked)
    count = format_count(len(plan["subjects"]), plan["kind"], "documents" if plan["kind"] == "document" else "people")
    why = quiet_text(f"{count}: {', '.join(plan['subjects'])}. Why: {plan['reason']}")
    note = tag("p", tag("strong", "Nothing was erased yet."), f" {FOR_GOOD}")
    return join_html(back, titled_card("This would go", why, shown), titled_card("Erase it", note, form))


def receipt_view(id_: str, receipt: Record) -> SafeHtml:
    """A receipt, with a way to look again."""
    rows = [(place, count) for place, count in sorted(receipt["erased"].items())]
    back = link_to("← All erasures", page_address("erasures"))
    whole = tag("details", tag("summary", "The signed receipt"), tag("pre", json.dumps(receipt, indent=2)))
    look = PROBE.button("Look again", erasure=id_)
    key = quiet_text(f"Signed with key {receipt['key']['id']}. Check it outside: aos erasures verify FILE --key KEY.")
    return join_html(back, titled_card("Receipt", data_table(("Where", "Rows"), rows), key, whole, look))


def split_subjects(kind: str, text: str) -> Sequence[str]:
    """What was typed, one by one: of documents every id in it, of people what stands between spaces and commas."""
    found = DOCUMENT.findall(text) if kind == "document" else text.replace(",", " ").split()
    return list(dict.fromkeys(found))


def _body(asked: Query) -> Record:
    ids = [one for one in asked.get("ids", "").split(",") if one]
    return {"kind": asked.get("kind", "document"), "ids": ids, "reason": asked.get("reason", "")}


async def _plan_erasure(api: SessionApi, values: Values) -> ActResult:
    kind, reason = values.get("kind", "document"), values.get("reason", "").strip()
    named = split_subjects(kind, values.get("which", ""))
    wrong = "" if 0 < len(named) <= MOST else f"which: name 1 to {MOST}; more at once by aos erasures run"
    wrong = wrong or ("" if reason else "reason: say why")
    if wrong:
        raise ApiProblem(ProblemReport("This cannot be asked for.", wrong, "", 422, "invalid"))
    ids = [await find_subject(api, kind, one) for one in named]
    asked = {"kind": kind, "ids": ids, "reason": reason}
    plan = await api.post("/api/erasures", asked, params=DRY)  # what refuses it says so beside the form
    where = page_query("erasures", kind=kind, ids=",".join(ids), reason=reason)
    return act_done(f"{sum(plan['counts'].values()):,} rows would go. Nothing was erased yet.", to=where)


async def _run_erasure(api: SessionApi, values: Values) -> ActResult:
    if values.get("word", "").strip().lower() != WORD:
        raise ApiProblem(ProblemReport("Nothing was erased.", f"word: type {WORD}", "", 422, "invalid"))
    done = await api.post("/api/erasures", _body(values), timeout=LONG_SECONDS)
    said = "nothing of it is found" if not done["finds"] else f"{done['finds']} places still have something of it"
    return act_done(f"It is erased; {said}.", to=page_query("erasures", receipt=done["id"]))


async def _look_again(api: SessionApi, values: Values) -> ActResult:
    found = await api.post(api_route("erasures", values["erasure"], "probe"))
    if not found["finds"]:
        return act_done("Nothing of it is found.")
    places = ", ".join(f"{place}: {count}" for place, count in found["places"].items())
    return act_done(f"{found['finds']} found: {places}.")


async def _replay_erasures(api: SessionApi, values: Values) -> ActResult:
    items = (await api.post("/api/erasures/replay", {}, timeout=LONG_SECONDS))["items"]
    again = sum(1 for one in items if one["again"])
    return act_done(f"{len(items)} erasures were looked at; of {again} something had come back, and went again.")


SECTION = SystemSection(
    "erasures",
    "Erasures",
    Role.ADMIN,
    _show_erasures,
    {PLAN.act: _plan_erasure, ERASE.act: _run_erasure, PROBE.act: _look_again, REPLAY.act: _replay_erasures},
)
