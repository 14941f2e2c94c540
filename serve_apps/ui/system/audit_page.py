"""The audit trail: who did what and how it ended, found by filters, with the state of the chain that protects it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import Colour, data_table, empty_state, link_to, state_badge, status_dot, titled_card
from serve_apps.ui.kit.formats import format_count, format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, fact_list, query_form
from serve_apps.ui.system.section import Query, SystemSection, page_address

PAGE_OF: Final = 50
VERIFY_SECONDS: Final = 30.0  # of one look
FILTERS: Final = ("actor", "action", "object", "outcome", "from", "to")
ACTIONS: Final = (
    *("session", "user", "api_key", "credential", "llm_connection", "schedule", "settings", "restart"),
    *("document", "agent", "skill", "workspace", "tenant", "approval"),
)
COLOURS: Final[Mapping[str, Colour]] = {"done": "green", "denied": "amber", "failed": "red"}
_FORM: Final = ActForm("audit")


async def _show(api: SessionApi, asked: Query) -> SafeHtml:
    wanted = {name: asked.get(name) for name in FILTERS}
    before = query_int(asked, "before") or None
    body = await api.get("/api/audit", **wanted, before=before, limit=PAGE_OF)
    if asked.get("verify") == "chain":
        body |= await verify_chain(api, query_int(asked, "after") + 1, asyncio.get_running_loop().time)
    collectors = (await api.get("/api/audit/sinks"))["items"]
    trail = titled_card("Trail", _filters(asked), entries(body), _pages(body, asked))
    return join_html(chain(body, asked), sinks(collectors), trail)


async def verify_chain(api: SessionApi, first: int, clock: Callable[[], float]) -> Record:
    """Check every entry from `first` on, slice by slice; after some seconds it says where to go on (`left_at`)."""
    begun, found = clock(), await api.get("/api/audit/verify", **{"from": first})
    while found["intact"] and found["next"] and clock() - begun < VERIFY_SECONDS:
        found = await api.get("/api/audit/verify", **{"from": found["next"]})
    checked = {name: found[name] for name in ("intact", "first_broken", "newest")}
    left = found["reached"] if found["intact"] and found["next"] else None
    return {"verified": "chain", "left_at": left, "from": first, **checked}


def sinks(items: Sequence[Record]) -> SafeHtml | None:
    """Card of the collectors that the trail is sent to; none where there are none."""
    if not items:
        return None
    rows = []
    for one in items:
        bad = one["failures"] > 0
        light = status_dot("red", "not confirmed") if bad else status_dot("green", "confirmed")
        lag = f"{format_count(one['lag_entries'], 'entry', 'entries')}, {one['lag_seconds']:.0f} s"
        behind = lag if one["lag_entries"] else "nothing"
        when = format_moment(one["confirmed_at"]) if one["confirmed_at"] else "never"
        name, again = tag("span", light, f" {one['name']}"), one.get("next_at")
        next_ = join_html(" Tried again ", format_moment(again, relative=True)) if bad and again else None
        rows.append((name, one["kind"], one["seq"], when, behind, tag("span", one["error"] or "", next_)))
    return titled_card("Collectors", data_table(("Name", "Kind", "Has entry", "Confirmed", "Lacks", "Error"), rows))


def chain(body: Record, asked: Query) -> SafeHtml:
    """Card of the audit chain's check: unbroken, or where it breaks."""
    whole = body["verified"] == "chain"
    what = f"all {format_count(body['newest'], 'entry', 'entries')}" if whole else "the entries on this page"
    left = body.get("left_at")
    if left or body.get("from", 1) > 1:
        what = f"entries {body['from']:,} to {left or body['newest']:,} of {body['newest']:,}"
    if body["intact"]:
        said = tag("span", status_dot("green", "intact"), f" The chain is intact; checked: {what}.")
    else:
        what = f" Entry {body['first_broken']} was altered, or one before it is gone ({what})."
        said = tag("strong", status_dot("red", "broken"), what)
    kept = {name: asked.get(name) for name in (*FILTERS, "before")}
    whole_chain = page_address("audit", **kept, verify="chain", after=left)
    again = None
    if left or not whole:
        again = tag("a", "Go on with it" if left else "Check the whole chain", href=whole_chain, class_="aos-button")
    return tag("div", said, again, class_="aos-strip" if body["intact"] else "aos-problem")


def _filters(asked: Query) -> SafeHtml:
    return query_form(
        "audit",
        _FORM.text("actor", "Who", asked.get("actor", ""), hint="E-mail, id, or worker"),
        _FORM.text("action", "Did what", asked.get("action", ""), hint="user, or user.add", options=ACTIONS),
        _FORM.text("object", "To which object", asked.get("object", "")),
        _FORM.choice("outcome", "Outcome", (("", "any"), *((one, one) for one in COLOURS)), asked.get("outcome", "")),
        _FORM.text("from", "From", kind="datetime-local", data_iso=asked.get("from", "")),
        _FORM.text("to", "To", kind="datetime-local", data_iso=asked.get("to", "")),
    )


def entries(body: Record) -> SafeHtml:
    """One row each, with the state of its link in the chain."""
    if not body["items"]:
        return empty_state("No entry fits.", "Take a filter away, or choose a longer time.")
    rows = []
    for one in body["items"]:
        who, did = one["actor_email"] or one["actor"], join_html(tag("b", one["action"]), _details(one))
        what, outcome = one["object"], one["outcome"]
        object_ = tag("span", what if len(what) <= 14 else what[:8] + "…", title=what)
        bad = status_dot("red", "altered, or the one before it is gone")
        light = status_dot("green", "intact") if one["intact"] else bad
        chained = tag("span", light, f" {one['seq']}", title=one["hash"])
        badge = state_badge(outcome, COLOURS.get(outcome, "grey"))
        rows.append((format_moment(one["at"]), who, did, object_, badge, chained))
    return data_table(("When", "Who", "Did what", "To", "Outcome", "Chain"), rows)


def _details(one: Record) -> SafeHtml | None:
    if not one["detail"]:
        return None
    known = fact_list((name.replace("_", " "), plain(value)) for name, value in one["detail"].items())
    return tag("details", tag("summary", "details"), known)


def plain(value: Any) -> str:
    """A value of the details as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {plain(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(plain(inner) for inner in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _pages(body: Record, asked: Query) -> SafeHtml:
    kept = {name: asked.get(name) for name in FILTERS}
    newest = link_to("← Newest", page_address("audit", **kept)) if query_int(asked, "before") else tag("span")
    before = body["next_before"]
    older = link_to("Older →", page_address("audit", **kept, before=before)) if before else tag("span")
    count = quiet_span(f"{format_count(body['newest'], 'entry', 'entries')} in the trail")
    return tag("nav", newest, count, older, class_="aos-pager", aria_label="Pages of the list")


SECTION = SystemSection("audit", "Audit", Role.ADMIN, _show)
