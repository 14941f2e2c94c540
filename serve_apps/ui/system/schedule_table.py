"""Schedules: last and next run, history, and creating, pausing, running and deleting them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import Colour, badge, card, empty, link, pager, table
from serve_apps.ui.kit.formats import moment
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.sessions import Role, Session
from serve_apps.ui.system.forms import Form, action, facts, grid
from serve_apps.ui.system.section import Done, Query, Section, Values, address, at, good, missing, query, route

PAGE_OF, RUNS_OF = 50, 20
ADD, CHANGE, RUN = Form("schedules.add"), Form("schedules.change"), Form("schedules.run")
SWITCH, DELETE = Form("schedules.switch"), Form("schedules.delete")
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
Schedule = Mapping[str, Any]


async def show(api: Api, asked: Query) -> Html:
    """One schedule with its history, the form for another, or the list."""
    if "id" in asked:
        one = await _find(api, asked["id"])
        runs = await api.get(route("scheduler", "jobs", one["id"], "runs"), skip=at(asked), limit=RUNS_OF)
        return schedule(one, runs, at(asked), api.session)
    builds = api.session.role.reaches(Role.DEVELOPER)
    if "new" in asked and builds:
        agents = (await api.get("/api/agents", limit=1000))["items"]
        return adding([one["name"] for one in agents], api.session.role)
    body = await api.get("/api/scheduler/jobs", skip=at(asked), limit=PAGE_OF)
    return listing(body, at(asked), builds)


async def _find(api: Api, id_: str) -> Schedule:
    skip, total = 0, 1
    while skip < total:
        body = await api.get("/api/scheduler/jobs", skip=skip, limit=1000)
        for one in body["items"]:
            if one["id"] == id_:
                return one
        skip, total = skip + 1000, body["total"]
    raise missing("schedule")


def listing(body: Mapping[str, Any], skip: int, builds: bool) -> Html:
    """All by name, with when each ran and runs next."""
    new = action("Add a schedule", address("schedules", new=1)) if builds else None
    if not body["items"]:
        todo = "It sends an agent a message at set times, such as a summary every Monday. "
        return card("Schedules", empty("Nothing runs by the clock.", join(todo, new)))
    rows = [
        (
            link(one["name"], address("schedules", id=one["id"])),
            one["agent"],
            join(tag("code", one["cron"]), " ", one["timezone"]),
            moment(one["next_at"], relative=True),
            _last(one),
            _state(one),
            one["owner"],
        )
        for one in body["items"]
    ]
    paged = pager(address("schedules"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    shown = table(("Name", "Agent", "When", "Next", "Last", "State", "Runs as"), rows)
    return card("Schedules", shown, paged, aside=new)


def _last(one: Schedule) -> Html:
    if not one["last_at"]:
        return tag("span", "never", class_="quiet")
    ended = one["last_status"]
    return join(moment(one["last_at"], relative=True), " ", badge(ended, ENDED.get(ended, "grey")) if ended else None)


def _state(one: Schedule) -> Html:
    if one["running_since"]:
        return badge("running")
    return badge("on", "green") if one["enabled"] else badge("paused", "grey")


def adding(agents: Sequence[str], role: Role) -> Html:
    """The form for another."""
    back = link("← All schedules", address("schedules"))
    if not agents:
        return join(back, card("Add a schedule", empty("There is no agent.", "Make one first.")))
    actions = ACTIONS if role.reaches(Role.OPERATOR) else ACTIONS[:1]
    form = ADD(
        grid(
            ADD.text("name", "Name", required=True),
            ADD.choice("agent", "Agent", [(one, one) for one in agents]),
            ADD.choice("action", "What is done", actions),
            *_when(ADD, "", ""),
        ),
        ADD.area(
            "message", "Message to the agent", about="It runs as you, with the rights that you have when it runs."
        ),
        send="Add",
        colour="primary",
    )
    return join(back, card("Add a schedule", form))


def _when(form: Form, cron: str, zone: str) -> list[Html]:
    return [
        form.text("cron", "When", cron, WHEN, required=True, hint="0 2 * * *", options=TIMES),
        form.text("timezone", "Time zone", zone, required=True, data_zone=True),
    ]


def schedule(one: Schedule, runs: Mapping[str, Any], skip: int, who: Session) -> Html:
    """A schedule, what can be done with it, and what became of its due times."""
    mine = one["owner"] == who.email
    known = facts(
        (
            ("State", _state(one)),
            ("Agent", one["agent"]),
            ("What", dict(ACTIONS).get(one["action"], one["action"])),
            (
                "When",
                join(
                    tag("code", one["cron"]),
                    " ",
                    one["timezone"],
                    " ",
                    tag("span", TIMES.get(one["cron"], ""), class_="quiet"),
                ),
            ),
            ("Next", moment(one["next_at"])),
            ("Last", _last(one)),
            ("Runs as", f"{one['owner']}, at most {one['role']}"),
            (
                "Message",
                (one["payload"] or {}).get("message", "–") if one["payload"] is not None else "for its owner only",
            ),
        )
    )
    back = link("← All schedules", address("schedules"))
    head = card(one["name"], known, tag("div", _actions(one, mine, who.role), class_="aos-row"))
    return join(back, head, _change(one) if mine else None, history(one, runs, skip))


def _actions(one: Schedule, mine: bool, role: Role) -> list[Html | None]:
    id_ = {"id": one["id"], "name": one["name"]}
    keeps = mine or role.reaches(Role.OPERATOR)
    on = SWITCH.button("Resume", "primary", enabled="true", **id_) if mine and not one["enabled"] else None
    return [
        RUN.button("Run now", "primary", **id_) if mine else None,
        SWITCH.button("Pause", enabled="false", **id_) if keeps and one["enabled"] else on,
        DELETE.confirmed("Delete …", "Its history goes with it; what it led to stays.", "Delete", **id_)
        if keeps
        else None,
    ]


def _change(one: Schedule) -> Html:
    message = None
    if one["action"] == "message":
        message = CHANGE.area("message", "Message to the agent", (one["payload"] or {}).get("message", ""))
    form = CHANGE(
        grid(CHANGE.text("name", "Name", one["name"]), *_when(CHANGE, one["cron"], one["timezone"])),
        message,
        send="Save",
        colour="primary",
        changed=True,
        id=one["id"],
    )
    return card("Change", form)


def history(one: Schedule, runs: Mapping[str, Any], skip: int) -> Html:
    """Table of past due times with their outcome, the latest first."""
    if not runs["items"]:
        return card(
            "History", empty("It has not run yet.", "It shows up here with its first due time, or with “Run now”.")
        )
    rows = [
        (
            moment(run["due_at"]),
            badge(run["status"], ENDED.get(run["status"], "blue")),
            run["attempts"],
            moment(run["ended_at"], relative=True),
            run["error"] or _led_to(run),
        )
        for run in runs["items"]
    ]
    paged = pager(address("schedules", id=one["id"]), skip, RUNS_OF, runs["total"]) if runs["total"] > RUNS_OF else None
    return card("History", table(("Due", "State", "Attempts", "Ended", "What came of it"), rows), paged)


def _led_to(run: Mapping[str, Any]) -> Html:
    if run["run_id"]:
        return join("run ", tag("code", run["run_id"][:8], title=run["run_id"]))
    return join("job ", tag("code", run["job_id"][:8], title=run["job_id"])) if run["job_id"] else tag("span", "–")


async def add(api: Api, values: Values) -> Done:
    """Make one."""
    body: dict[str, Any] = {name: values.get(name, "") for name in ("name", "agent", "cron", "timezone", "action")}
    if values.get("message"):
        body["payload"] = {"message": values["message"]}
    made = await api.post("/api/scheduler/jobs", body)
    said = good(tag("strong", made["name"]), " is due ", moment(made["next_at"], relative=True), ".")
    return Done(said, query("schedules", id=made["id"]))


async def change(api: Api, values: Values) -> Done:
    """Save what was changed."""
    body: dict[str, Any] = {name: values[name] for name in ("name", "cron", "timezone") if name in values}
    if "message" in values:
        body["payload"] = {"message": values["message"]}
    after = await api.patch(route("scheduler", "jobs", values["id"]), body)
    return Done(good(tag("strong", after["name"]), " is saved; due ", moment(after["next_at"], relative=True), "."))


async def switch(api: Api, values: Values) -> Done:
    """Pause it, or let it go on."""
    after = await api.patch(route("scheduler", "jobs", values["id"]), {"enabled": values.get("enabled") == "true"})
    return Done(good(tag("strong", after["name"]), " goes on." if after["enabled"] else " is paused."))


async def run(api: Api, values: Values) -> Done:
    """Let it be due now."""
    await api.post(route("scheduler", "jobs", values["id"], "run"))
    return Done(
        good(
            tag("strong", values.get("name", "It")),
            " is due now. Its history shows what comes of it: ",
            link("look again", address("schedules", id=values["id"])),
            ".",
        )
    )


async def delete(api: Api, values: Values) -> Done:
    """Take it away."""
    await api.delete(route("scheduler", "jobs", values["id"]))
    return Done(good(f"{values.get('name', 'It')} is deleted."), query("schedules"))


SECTION = Section(
    "schedules",
    "Schedules",
    Role.VIEWER,
    show,
    {ADD.act: add, CHANGE.act: change, SWITCH.act: switch, RUN.act: run, DELETE.act: delete},
)
