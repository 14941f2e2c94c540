"""Schedules: last and next run, history, and creating, pausing, running and deleting them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import Colour, data_table, empty_card, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import ConsoleSession, Role
from serve_apps.ui.system.forms import ActForm, action_link, fact_list, field_grid
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    find_listed,
    page_address,
    page_query,
    success_note,
)

PAGE_OF, RUNS_OF = 50, 20
ADD, CHANGE, RUN = ActForm("schedules.add"), ActForm("schedules.change"), ActForm("schedules.run")
SWITCH, DELETE = ActForm("schedules.switch"), ActForm("schedules.delete")
TIMES: Final[Mapping[str, str]] = {
    "*/15 * * * *": "every 15 minutes",
    "0 * * * *": "every hour",
    "0 2 * * *": "every day at 2:00",
    "0 7 * * 1-5": "Monday to Friday at 7:00",
    "0 6 * * 1": "every Monday at 6:00",
    "0 3 1 * *": "on the first at 3:00",
}
ACTIONS: Final = (("message", "send the agent a message"), ("academy", "let the agent study and examine it"))
ENDED: Final[Mapping[str, Colour]] = {
    "completed": "green",
    "failed": "red",
    "timeout": "red",
    "refused": "red",
    "waiting": "amber",
    "cancelled": "grey",
}
WHEN: Final = "Minute, hour, day, month, weekday: 0 2 * * * is every day at 2:00, 0 7 * * 1-5 Monday to Friday at 7:00."
Schedule = Record


async def _show_schedules(api: SessionApi, asked: Query) -> SafeHtml:
    if "id" in asked:
        one = await find_listed(api, "/api/scheduler/jobs", asked["id"], "schedule")
        runs = await api.get(api_route("scheduler", "jobs", one["id"], "runs"), skip=query_int(asked), limit=RUNS_OF)
        return _schedule_view(one, runs, query_int(asked), api.session)
    builds = api.session.role.reaches(Role.DEVELOPER)
    if "new" in asked and builds:
        agents = (await api.get("/api/agents", limit=1000))["items"]
        return _new_schedule_form([one["name"] for one in agents], api.session.role)
    body = await api.get("/api/scheduler/jobs", skip=query_int(asked), limit=PAGE_OF)
    return _schedule_list(body, query_int(asked), builds)


def _schedule_list(body: Record, skip: int, builds: bool) -> SafeHtml:
    new = action_link("Add a schedule", page_address("schedules", new=1)) if builds else None
    if not body["items"]:
        todo = "It sends an agent a message at set times, such as a summary every Monday. "
        return empty_card("Schedules", "Nothing runs by the clock.", join_html(todo, new))
    rows = []
    for one in body["items"]:
        link = link_to(one["name"], page_address("schedules", id=one["id"]))
        when, due = (tag("code", one["cron"]), " ", one["timezone"]), format_moment(one["next_at"], relative=True)
        rows.append((link, one["agent"], when, due, _last_run(one), _state_badge(one), one["owner"]))
    paged = list_pager(page_address("schedules"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    shown = data_table(("Name", "Agent", "When", "Next", "Last", "State", "Runs as"), rows)
    return titled_card("Schedules", shown, paged, aside=new)


def _last_run(one: Schedule) -> SafeHtml:
    if not one["last_at"]:
        return quiet_span("never")
    ended = one["last_status"]
    badge = state_badge(ended, ENDED.get(ended, "grey")) if ended else None
    return join_html(format_moment(one["last_at"], relative=True), " ", badge)


def _state_badge(one: Schedule) -> SafeHtml:
    if one["running_since"]:
        return state_badge("running")
    return state_badge("on", "green") if one["enabled"] else state_badge("paused", "grey")


def _new_schedule_form(agents: Sequence[str], role: Role) -> SafeHtml:
    back = link_to("← All schedules", page_address("schedules"))
    if not agents:
        return join_html(back, empty_card("Add a schedule", "There is no agent.", "Make one first."))
    actions = ACTIONS if role.reaches(Role.OPERATOR) else ACTIONS[:1]
    fields = field_grid(
        ADD.text("name", "Name", required=True),
        ADD.choice("agent", "Agent", [(one, one) for one in agents]),
        ADD.choice("action", "What is done", actions),
        *_time_fields(ADD, "", ""),
    )
    about = "It runs as you, with the rights that you have when it runs."
    form = ADD(fields, ADD.area("message", "Message to the agent", about=about), send="Add")
    return join_html(back, titled_card("Add a schedule", form))


def _time_fields(form: ActForm, cron: str, zone: str) -> list[SafeHtml]:
    return [
        form.text("cron", "When", cron, WHEN, required=True, hint="0 2 * * *", options=TIMES),
        form.text("timezone", "Time zone", zone, required=True, data_zone=True),
    ]


def _schedule_view(one: Schedule, runs: Record, skip: int, who: ConsoleSession) -> SafeHtml:
    mine = one["owner"] == who.email
    said = "for its owner only" if one["payload"] is None else one["payload"].get("message", "–")
    known = fact_list(
        (
            ("State", _state_badge(one)),
            ("Agent", one["agent"]),
            ("What", dict(ACTIONS).get(one["action"], one["action"])),
            ("When", (tag("code", one["cron"]), " ", one["timezone"], " ", quiet_span(TIMES.get(one["cron"], "")))),
            ("Next", format_moment(one["next_at"])),
            ("Last", _last_run(one)),
            ("Runs as", f"{one['owner']}, at most {one['role']}"),
            ("Message", said),
        )
    )
    back = link_to("← All schedules", page_address("schedules"))
    head = titled_card(one["name"], known, tag("div", _schedule_actions(one, mine, who.role), class_="aos-row"))
    return join_html(back, head, _change_form(one) if mine else None, _run_history(one, runs, skip))


def _schedule_actions(one: Schedule, mine: bool, role: Role) -> list[SafeHtml | None]:
    id_ = {"id": one["id"], "name": one["name"]}
    keeps = mine or role.reaches(Role.OPERATOR)
    delete = DELETE.confirmed("Delete …", "Its history goes with it; what it led to stays.", "Delete", **id_)
    on = SWITCH.button("Resume", "primary", enabled="true", **id_) if mine and not one["enabled"] else None
    return [
        RUN.button("Run now", "primary", **id_) if mine else None,
        SWITCH.button("Pause", enabled="false", **id_) if keeps and one["enabled"] else on,
        delete if keeps else None,
    ]


def _change_form(one: Schedule) -> SafeHtml:
    message = None
    if one["action"] == "message":
        message = CHANGE.area("message", "Message to the agent", (one["payload"] or {}).get("message", ""))
    fields = field_grid(CHANGE.text("name", "Name", one["name"]), *_time_fields(CHANGE, one["cron"], one["timezone"]))
    form = CHANGE(fields, message, send="Save", changed=True, id=one["id"])
    return titled_card("Change", form)


def _run_history(one: Schedule, runs: Record, skip: int) -> SafeHtml:
    if not runs["items"]:
        todo = "It shows up here with its first due time, or with “Run now”."
        return empty_card("History", "It has not run yet.", todo)
    rows = []
    for run in runs["items"]:
        state, ended = run["status"], format_moment(run["ended_at"], relative=True)
        badge = state_badge(state, ENDED.get(state, "blue"))
        rows.append((format_moment(run["due_at"]), badge, run["attempts"], ended, run["error"] or _led_to(run)))
    pager = list_pager(page_address("schedules", id=one["id"]), skip, RUNS_OF, runs["total"])
    paged = pager if runs["total"] > RUNS_OF else None
    return titled_card("History", data_table(("Due", "State", "Attempts", "Ended", "What came of it"), rows), paged)


def _led_to(run: Record) -> SafeHtml:
    if run["run_id"]:
        return join_html("run ", tag("code", run["run_id"][:8], title=run["run_id"]))
    return join_html("job ", tag("code", run["job_id"][:8], title=run["job_id"])) if run["job_id"] else tag("span", "–")


async def _add_schedule(api: SessionApi, values: Values) -> ActResult:
    body: dict[str, Any] = {name: values.get(name, "") for name in ("name", "agent", "cron", "timezone", "action")}
    if values.get("message"):
        body["payload"] = {"message": values["message"]}
    made = await api.post("/api/scheduler/jobs", body)
    said = success_note(tag("strong", made["name"]), " is due ", format_moment(made["next_at"], relative=True), ".")
    return ActResult(said, page_query("schedules", id=made["id"]))


async def _change_schedule(api: SessionApi, values: Values) -> ActResult:
    body: dict[str, Any] = {name: values[name] for name in ("name", "cron", "timezone") if name in values}
    if "message" in values:
        body["payload"] = {"message": values["message"]}
    after = await api.patch(api_route("scheduler", "jobs", values["id"]), body)
    due = format_moment(after["next_at"], relative=True)
    return act_done(tag("strong", after["name"]), " is saved; due ", due, ".")


async def _toggle_schedule(api: SessionApi, values: Values) -> ActResult:
    after = await api.patch(api_route("scheduler", "jobs", values["id"]), {"enabled": values.get("enabled") == "true"})
    return act_done(tag("strong", after["name"]), " goes on." if after["enabled"] else " is paused.")


async def _run_schedule(api: SessionApi, values: Values) -> ActResult:
    await api.post(api_route("scheduler", "jobs", values["id"], "run"))
    again = link_to("look again", page_address("schedules", id=values["id"]))
    said = " is due now. Its history shows what comes of it: "
    return act_done(tag("strong", values.get("name", "It")), said, again, ".")


async def _delete_schedule(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("scheduler", "jobs", values["id"]))
    return act_done(f"{values.get('name', 'It')} is deleted.", to=page_query("schedules"))


SECTION = SystemSection(
    "schedules",
    "Schedules",
    Role.VIEWER,
    _show_schedules,
    {
        ADD.act: _add_schedule,
        CHANGE.act: _change_schedule,
        SWITCH.act: _toggle_schedule,
        RUN.act: _run_schedule,
        DELETE.act: _delete_schedule,
    },
)
