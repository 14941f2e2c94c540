"""Limits: rules of the tenant with what is used of them, set and removed; the own ones for who may not change any."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, titled_card
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, field_grid
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    missing_problem,
    page_query,
    tenant_admin,
)

SET, REMOVE = ActForm("limits.set"), ActForm("limits.remove")
ABOUT: Final = "The most specific rule holds: of a key, then of a person, a group, a workspace, the tenant."
RESOURCES: Final[Sequence[tuple[str, str]]] = (
    ("requests", "requests: changes and questions"),
    ("reads", "reads"),
    ("chat", "chat: messages and asked questions"),
    ("agents", "agents: changes of agents"),
    ("admin_api", "admin_api: changes by administrators"),
    ("admin", "admin: changes of the system"),
    ("uploads", "uploads: files sent"),
    ("tokens", "tokens of language models"),
    ("usd", "usd: money for language models"),
    ("pages", "pages read"),
    ("upload_bytes", "upload_bytes"),
    ("streams", "streams at a time"),
    ("jobs", "jobs at a time"),
)
WINDOWS: Final = ("second", "minute", "hour", "day", "month", "at_once")
# Where subjects are listed, and by which name people know them.
PLACES: Final = {
    "user": ("/api/users", "email"),
    "group": ("/api/groups", "name"),
    "key": ("/api/api-keys", "name"),
    "workspace": ("/api/workspaces", "name"),
}


async def _show_limits(api: SessionApi, asked: Query) -> SafeHtml:
    del asked
    if not await tenant_admin(api):
        return titled_card("Your limits", _limit_table((await api.get("/api/limits/mine"))["items"], changes=False))
    return _rules_view(await api.get("/api/limits"))


def _rules_view(body: Record) -> SafeHtml:
    told = ", ".join(f"{name} {most}" for name, most in body["defaults"].items()) or "anything"
    defaults = quiet_text(f"Where no rule says otherwise, each caller may have a minute, or at a time: {told}.")
    nobody = empty_state("There are no rules yet.", "The defaults of the settings hold for everybody.")
    shown = _limit_table(body["items"], changes=True) if body["items"] else nobody
    return join_html(
        titled_card("Limits", quiet_text(ABOUT), shown, defaults), titled_card("Set a limit", _new_limit_form())
    )


def _limit_table(items: Sequence[Record], *, changes: bool) -> SafeHtml:
    rows = []
    for one in items:
        whose = {name: one[name] for name in ("subject_kind", "subject", "resource")}
        about = "What is less specific holds then, or the default."
        remove = REMOVE.confirmed("Remove …", about, "Remove", name=one["name"], **whose) if changes else ""
        window = one["window"].replace("_", " ")
        used = f"{one['used']:,.10g} of {one['amount']:,.10g}"
        rows.append((one["subject_kind"], one["name"] or "you", one["resource"], window, used, remove))
    return data_table(("Kind", "Whose", "What", "In a", "Used", ""), rows)


def _new_limit_form() -> SafeHtml:
    kinds = tuple((one, one) for one in ("user", "group", "key", "workspace", "tenant"))
    fields = field_grid(
        SET.choice("kind", "Kind", kinds, "user"),
        SET.text("subject", "Whose", about="An e-mail address, a name, or an id; nothing for the tenant."),
        SET.choice("resource", "What", RESOURCES, "requests"),
        SET.text("amount", "How much", required=True, about="0 lets nothing through."),
        SET.choice("window", "In a", tuple((one, one.replace("_", " ")) for one in WINDOWS), "minute"),
    )
    return SET(fields, send="Set it")


async def _set_limit(api: SessionApi, values: Values) -> ActResult:
    kind, named = values.get("kind", ""), values.get("subject", "").strip()
    resource = values.get("resource", "")
    body = {"amount": values.get("amount", "").strip(), "window": values.get("window", "")}
    await api.put(api_route("limits", kind, await _find_subject(api, kind, named), resource), body)
    return act_done(f"It holds within five seconds: {body['amount']} {resource} for the {kind} {named}.".rstrip())


async def _remove_limit(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("limits", values["subject_kind"], values["subject"], values["resource"]))
    return act_done(
        f"{values.get('name', 'It')} has no rule for {values['resource']} any more.", to=page_query("limits")
    )


async def _find_subject(api: SessionApi, kind: str, named: str) -> str:
    if kind == "tenant":
        return str((await api.get("/api/limits/mine"))["tenant_id"])
    path, name = PLACES.get(kind, PLACES["user"])
    wanted = named.lower()
    asked = {"q": wanted, "everywhere": "true"} if kind == "user" else {}
    for one in (await api.get(path, limit=1000, **asked))["items"]:
        if wanted in (one["id"], str(one[name]).lower()):
            return str(one["id"])
    raise missing_problem(kind)


SECTION = SystemSection("limits", "Limits", Role.ADMIN, _show_limits, {SET.act: _set_limit, REMOVE.act: _remove_limit})
