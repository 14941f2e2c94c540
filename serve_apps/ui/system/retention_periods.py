"""Retention: how long each class is kept, and what is due; another period first shows what it would delete."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, link_to, state_badge, titled_card
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, field_grid
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    page_address,
    page_query,
    tenant_admin,
    tenant_only,
)

TRY, SET, RUN = ActForm("retention.try"), ActForm("retention.set"), ActForm("retention.run")
KEEP, INHERIT = "keep", "inherit"
HOW: Final = f"A number, {KEEP} for good, or {INHERIT} from above."
PREVIEW: Final = "/api/retention/preview"
ABOUT: Final = "What is older goes at the next turn, by default within the hour, unless it is held."
LEVELS: Final = (("tenant", "the whole tenant"), ("workspace", "this workspace"))
SOURCES: Final = {"workspace": "this workspace", "tenant": "the tenant", "default": "the settings"}
LONG_SECONDS: Final = 600.0


async def _show_retention(api: SessionApi, asked: Query) -> SafeHtml:
    if not await tenant_admin(api):
        return tenant_only("Retention")
    if "days" in asked:
        found = await api.post(PREVIEW, rule_body(asked))
        spaces = (await api.get("/api/workspaces", limit=1000))["items"]
        return effect_view(asked, found["items"], {one["id"]: one["name"] for one in spaces})
    periods = (await api.get("/api/retention"))["periods"]
    if "class" in asked:
        return change_form(asked["class"], periods)
    due = (await api.post("/api/retention/run", params={"dry_run": "true"}))["items"]
    return period_list(periods, due)


def period_list(periods: Mapping[str, Record], due: Sequence[Record]) -> SafeHtml:
    """Every class with its period, and what is due by the rules of now."""
    rows = []
    for kind, one in periods.items():
        now = sum(each["due"] for each in due if each["kind"] == kind)
        held = sum(each["held"] for each in due if each["kind"] == kind)
        waits = f"{now:,}" + (f", {held:,} held" if held else "")
        change = action_link("Change …", page_address("retention", **{"class": kind}))
        rows.append((kind, days_text(one["days"]), SOURCES[one["source"]], waits, change))
    table = data_table(("Class", "Kept for", "Says", "Due in the tenant", ""), rows)
    all_ = sum(each["due"] for each in due)
    run = None
    if all_:
        about = f"{all_:,} rows are due in all workspaces of the tenant. They go now, and not at the next turn."
        run = tag("div", RUN.confirmed("Delete what is due …", about, "Delete it now"), class_="aos-row")
    return titled_card("Retention", quiet_text(ABOUT), table, run)


def change_form(kind: str, periods: Mapping[str, Record]) -> SafeHtml:
    """Another period; it only leads to what that would delete."""
    back = link_to("← All classes", page_address("retention"))
    now = periods.get(kind, {"days": None, "source": "default"})
    levels = LEVELS[:1] if kind == "audit" else LEVELS
    fields = field_grid(
        TRY.text("days", "Days", str(now["days"] or KEEP), HOW, required=True),
        TRY.choice("level", "Holds for", levels, "tenant"),
    )
    form = TRY(fields, TRY.kept(**{"class": kind}), send="Show what it would do")
    return join_html(back, titled_card(f"How long {kind} are kept", quiet_text(ABOUT), form))


def effect_view(asked: Query, items: Sequence[Record], names: Mapping[str, str]) -> SafeHtml:
    """What a rule would delete, and the way to set it; `names` are those of workspaces by id, as far as known."""
    kind, days = asked.get("class", ""), asked["days"]
    back = link_to("← All classes", page_address("retention"))
    due = sum(one["due"] for one in items)
    rows = []
    for one in items:
        place = names.get(one["workspace"], one["workspace"]) if one["workspace"] else "the tenant"
        rows.append((place, days_text(one["days"]), one["due"], one["held"]))
    table = data_table(("Workspace", "Kept for", "Due at once", "Held, stays"), rows) if rows else None
    said = f"{due:,} rows would be deleted at the next turn." if due else "Nothing would be due now."
    level = asked.get("level", "tenant")
    form = SET.button("Set it", "danger" if due else "primary", **{"class": kind, "days": days, "level": level})
    note = tag("p", tag("strong", said), " Nothing was changed yet.")
    badge = state_badge(f"{due:,} rows", "red") if due else state_badge("nothing", "green")
    reach = dict(LEVELS).get(level, "the whole tenant")
    title = f"{kind}: {days_text(int(days)) if days.isdecimal() else days}, {reach}"
    return join_html(back, titled_card(title, note, table, form, aside=badge))


def days_text(days: int | None) -> str:
    """A period as people read it."""
    return "for good" if days is None else "1 day" if days == 1 else f"{days:,} days"


def rule_body(values: Mapping[str, str]) -> dict[str, Any]:
    """The rule of a form. Raises ApiProblem: that is no period."""
    days = values.get("days", "").strip().lower()
    if days not in (KEEP, INHERIT) and not (days.isascii() and days.isdecimal()):
        wrong = f"days: a number, {KEEP} or {INHERIT}"
        raise ApiProblem(ProblemReport("This is no period.", wrong, "", 422, "invalid"))
    body = {"class": values.get("class", ""), "level": values.get("level", "tenant"), "inherit": days == INHERIT}
    return body | {"days": int(days) if days.isdecimal() else None}


async def _try_rule(api: SessionApi, values: Values) -> ActResult:
    await api.post(PREVIEW, rule_body(values))  # what refuses it says so beside the form
    asked = {name: values.get(name, "").strip().lower() for name in ("class", "days", "level")}
    return act_done("This is what it would do. Nothing was changed yet.", to=page_query("retention", **asked))


async def _set_rule(api: SessionApi, values: Values) -> ActResult:
    await api.put("/api/retention", rule_body(values))
    return act_done(f"The rule for {values.get('class', '')} holds.", to=page_query("retention"))


async def _run_now(api: SessionApi, values: Values) -> ActResult:
    done = await api.post("/api/retention/run", params={"dry_run": "false"}, timeout=LONG_SECONDS)
    return act_done(f"{sum(one['deleted'] for one in done['items']):,} rows are deleted.", to=page_query("retention"))


SECTION = SystemSection(
    "retention", "Retention", Role.ADMIN, _show_retention, {TRY.act: _try_rule, SET.act: _set_rule, RUN.act: _run_now}
)
