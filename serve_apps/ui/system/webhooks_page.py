"""Webhooks: where events go out to, what became of each, and making, testing, switching and replaying them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import Colour, data_table, empty_card, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, fact_list, field_grid, secret_shown_once
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    page_address,
    page_query,
    success_note,
)

PAGE_OF: Final = 50
ADD, SWITCH, PING = ActForm("webhooks.add"), ActForm("webhooks.switch"), ActForm("webhooks.ping")
SECRET, REPLAY, AGAIN = ActForm("webhooks.secret"), ActForm("webhooks.replay"), ActForm("webhooks.again")
RESEND, DELETE = ActForm("webhooks.resend"), ActForm("webhooks.delete")
ABOUT: Final = "Receivers are told ids and states, never text of a document, and only of what the owner may see."
SHOWN: Final = "It is shown this once. The receiver checks signatures with it (Standard Webhooks)."
TOPICS: Final = (
    "Separated by commas: *, job.*, document.*, approval.*, feedback.*, policy.*, or one such as job.failed."
)
SPANS: Final = (("1", "an hour"), ("24", "a day"), ("72", "three days"), ("720", "thirty days"))
ROLES: Final = (
    ("", "what I may see"),
    *((one, f"what a {one} may see") for one in ("viewer", "developer", "operator")),
)
STATES: Final[Mapping[str, Colour]] = {"delivered": "green", "pending": "blue", "dead": "red", "withheld": "grey"}


async def _show_webhooks(api: SessionApi, asked: Query) -> SafeHtml:
    if "id" in asked:
        one = await api.get(api_route("webhooks", asked["id"]))
        wanted = {"state": asked["state"]} if asked.get("state") in STATES else {}
        sent = await api.get(
            api_route("webhooks", asked["id"], "deliveries"), skip=query_int(asked), limit=PAGE_OF, **wanted
        )
        return webhook_view(one, sent, asked)
    if "new" in asked:
        back = link_to("← All webhooks", page_address("webhooks"))
        return join_html(back, titled_card("Add a webhook", quiet_text(ABOUT), _new_webhook_form()))
    return webhook_list(await api.get("/api/webhooks", skip=query_int(asked), limit=PAGE_OF), query_int(asked))


def webhook_list(body: Record, skip: int) -> SafeHtml:
    """Each webhook with how it stands and how much it lacks."""
    new = action_link("Add a webhook", page_address("webhooks", new=1))
    if not body["items"]:
        return empty_card("Webhooks", "Nobody is told of what happens here.", join_html(ABOUT, " ", new))
    rows = []
    for one in body["items"]:
        link = link_to(one["name"], page_address("webhooks", id=one["id"]))
        topics, seen = ", ".join(one["topics"]), one["role"] or one["owner"]
        last = format_moment(one["succeeded_at"], relative=True)
        rows.append((link, one["url"], topics, _standing(one), one["pending"], one["dead"], last, seen))
    heads = ("Name", "Sent to", "Topics", "State", "Waiting", "Given up", "Last taken", "Sees as")
    paged = list_pager(page_address("webhooks"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    return titled_card("Webhooks", quiet_text(ABOUT), data_table(heads, rows), paged, aside=new)


def _standing(one: Record) -> SafeHtml:
    if not one["enabled"]:
        return state_badge("off", "grey")
    return state_badge("failing", "red") if one["failures"] else state_badge("on", "green")


def _new_webhook_form() -> SafeHtml:
    fields = field_grid(
        ADD.text("name", "Name", required=True),
        ADD.text("url", "Send to", required=True, hint="https://hooks.example.com/aos"),
        ADD.text("topics", "Topics", "*", TOPICS, required=True),
        ADD.choice("role", "Tell", ROLES, ""),
    )
    return ADD(fields, send="Add it")


def webhook_view(one: Record, sent: Record, asked: Query) -> SafeHtml:
    """One webhook, what can be done with it, and its deliveries."""
    why = one["disabled_why"] or one["error"] or "–"
    rests = f"{one['failures']} in a row" if one["failures"] else "–"
    known = fact_list(
        (
            ("State", _standing(one)),
            ("Sent to", tag("code", one["url"])),
            ("Topics", ", ".join(one["topics"])),
            ("Sees as", one["role"] or one["owner"]),
            ("Failures", (rests, " ", quiet_span("next attempt "), format_moment(one["next_at"], relative=True))),
            ("Last error", why),
            ("Last taken", format_moment(one["succeeded_at"])),
            ("Secrets", f"{one['secrets']} valid"),
            ("Given up", one["dead"]),
        )
    )
    id_ = {"id": one["id"], "name": one["name"]}
    switch = SWITCH.button("Switch off", enabled="false", **id_)
    if not one["enabled"]:
        switch = SWITCH.button("Switch on", "primary", enabled="true", **id_)
    rotate = "The one before signs as well for a day; then receivers have to know the new one."
    resend = RESEND.button(f"Send {one['dead']} again", **id_) if one["dead"] else None
    acts = (
        PING.button("Send a test", "primary", **id_),
        switch,
        resend,
        SECRET.confirmed("New secret …", rotate, "Give it another secret", **id_),
        DELETE.confirmed("Delete …", "What it still lacks is forgotten.", "Delete", **id_),
    )
    head = titled_card(one["name"], known, tag("div", acts, class_="aos-row"))
    return join_html(link_to("← All webhooks", page_address("webhooks")), head, _deliveries(one, sent, asked))


def _deliveries(one: Record, sent: Record, asked: Query) -> SafeHtml:
    here = {"id": one["id"], "state": asked.get("state")}
    links = [link_to("all", page_address("webhooks", id=one["id"]))]
    links += [link_to(state, page_address("webhooks", id=one["id"], state=state)) for state in STATES]
    shown = [join_html(link, " ") for link in links]
    form = REPLAY(
        field_grid(
            REPLAY.choice("hours", "Of the last", SPANS, "24"), REPLAY.switch("failed", "only what was given up", True)
        ),
        send="Send again",
        id=one["id"],
    )
    again = tag("details", tag("summary", "Replay …", class_="aos-button"), form, class_="aos-confirm")
    if not sent["items"]:
        return empty_card("Deliveries", "There are none.", join_html(*shown), aside=again)
    rows = []
    for each in sent["items"]:
        what = (each["topic"], " ", quiet_span(each["subject"]))
        state = state_badge(each["state"], STATES.get(each["state"], "grey"))
        answer = each["error"] or each["status"] or "–"
        replay = None
        if each["state"] != "pending":
            replay = AGAIN.button("Replay", id=one["id"], event=each["event_id"])
        rows.append((format_moment(each["created_at"]), what, state, each["attempts"], answer, replay))
    pager = list_pager(page_address("webhooks", **here), query_int(asked), PAGE_OF, sent["total"])
    table = data_table(("When", "What", "State", "Attempts", "Answer", ""), rows)
    return titled_card("Deliveries", tag("p", shown), table, pager if sent["total"] > PAGE_OF else None, aside=again)


async def _add_webhook(api: SessionApi, values: Values) -> ActResult:
    topics = [part.strip() for part in values.get("topics", "").split(",") if part.strip()]
    wanted: dict[str, Any] = {"name": values.get("name", ""), "url": values.get("url", "").strip(), "topics": topics}
    made = await api.post("/api/webhooks", wanted | {"role": values.get("role") or None})
    said = secret_shown_once(f"Webhook {made['name']}", made["secret"], SHOWN)
    return ActResult(success_note(said), page_query("webhooks", id=made["id"]))


async def _switch_webhook(api: SessionApi, values: Values) -> ActResult:
    after = await api.patch(api_route("webhooks", values["id"]), {"enabled": values.get("enabled") == "true"})
    return act_done(tag("strong", after["name"]), " is on." if after["enabled"] else " is off.")


async def _ping_webhook(api: SessionApi, values: Values) -> ActResult:
    done = await api.post(api_route("webhooks", values["id"], "ping"), {})
    if done["accepted"]:
        return act_done(f"The receiver took it ({done['status']}).")
    return ActResult(tag("div", f"It was not taken: {done['error']}", class_="aos-bad", role="alert"))


async def _rotate_secret(api: SessionApi, values: Values) -> ActResult:
    made = await api.post(api_route("webhooks", values["id"], "secret"), {})
    return act_done(secret_shown_once(f"Secret of {values.get('name', 'it')}", made["secret"], SHOWN))


async def _replay_since(api: SessionApi, values: Values) -> ActResult:
    hours = values.get("hours", "24")
    since = datetime.now(UTC) - timedelta(hours=int(hours) if hours.isascii() and hours.isdigit() else 24)
    body = {"since": since.isoformat(), "failed_only": values.get("failed") == "true"}
    done = await api.post(api_route("webhooks", values["id"], "replay"), body)
    return act_done(f"{done['replayed']} events are sent again.")


async def _resend_dead(api: SessionApi, values: Values) -> ActResult:
    done = await api.post(api_route("webhooks", values["id"], "replay"), {"failed_only": True})
    return act_done(f"{done['replayed']} events that were given up are sent again.")


async def _replay_event(api: SessionApi, values: Values) -> ActResult:
    await api.post(api_route("webhooks", values["id"], "replay"), {"event_id": values.get("event", "")})
    return act_done("It is sent again.")


async def _delete_webhook(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("webhooks", values["id"]))
    return act_done(f"{values.get('name', 'It')} is deleted.", to=page_query("webhooks"))


SECTION = SystemSection(
    "webhooks",
    "Webhooks",
    Role.ADMIN,
    _show_webhooks,
    {
        ADD.act: _add_webhook,
        SWITCH.act: _switch_webhook,
        PING.act: _ping_webhook,
        SECRET.act: _rotate_secret,
        REPLAY.act: _replay_since,
        AGAIN.act: _replay_event,
        RESEND.act: _resend_dead,
        DELETE.act: _delete_webhook,
    },
)
