"""Connections to language models: which there are, whether they answer, and their keys, which only go in."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_card, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, choice_tiles, fact_list, field_grid
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
    success_note,
)

ADD, CHANGE, KEY = ActForm("models.add"), ActForm("models.change"), ActForm("models.key")
TEST, DELETE, DEFAULT = ActForm("models.test"), ActForm("models.delete"), ActForm("models.default")
MOST_LISTED: Final = 12
# Where a provider usually is; `…` is for the person.
PLACES: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "azure": "https://….openai.azure.com/openai",
    "anthropic": "https://api.anthropic.com/v1",
    "cohere": "https://api.cohere.com/compatibility/v1",
    "vllm": "http://…:8000/v1",
    "ollama": "http://127.0.0.1:11434/v1",
    "textgen": "http://127.0.0.1:5001/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
    "huggingface": "https://api-inference.huggingface.co/v1",
    "custom": "https://…/v1",
}
FIXES: Final[Mapping[str, str]] = {
    "unreachable": "Is the server running, and do host and port of the address lead there from the gateway's machine?",
    "timeout": "The server is slow or a firewall drops the connection. Try again, or allow it more seconds.",
    "tls": "The certificate is not valid for this host. Correct the address, or the certificate.",
    "unauthorized": "Give it a valid key, and choose the way that the server expects it in.",
    "forbidden": "The key is known but may not do this: give it the rights, or use another one.",
    "not_found": "The path is another one. Most servers have their API below /v1.",
    "redirected": "Use the address that it leads to; keys are not sent along redirects.",
    "busy": "Too many requests now. Wait a moment and test again.",
    "server_error": "The server has a problem of its own: look at its log.",
    "no_api": "Something answers there, but no such API. Correct port and path.",
}
MODES: Final = (
    ("", "as the provider usually does"),
    ("bearer", "bearer token"),
    ("api_key", "key header of the provider"),
    ("basic", "user:password"),
    ("custom", "a header of its own"),
    ("none", "no key"),
)
Connection = Record


async def _show_connections(api: SessionApi, asked: Query) -> SafeHtml:
    if "new" in asked:
        return _new_connection_form((await api.get("/api/llm-connections/providers"))["items"], asked["new"])
    items = (await api.get("/api/llm-connections"))["items"]
    if "id" not in asked:
        return _connection_list(items)
    one = next((one for one in items if one["id"] == asked["id"]), None)
    if one is None:
        raise missing_problem("connection")
    return _connection_view(one)


def _connection_list(items: Sequence[Connection]) -> SafeHtml:
    new = action_link("Add a connection", page_address("models", new="choose"))
    if not items:
        todo = join_html("Without one, answers are quoted from documents and agents cannot talk. ", new)
        return empty_card("Model connections", "No language model is connected.", todo)
    rows = []
    for one in items:
        default = state_badge("default", "blue") if one["default"] else None
        name = join_html(link_to(one["name"], page_address("models", id=one["id"])), " ", default)
        test, address = TEST.button("Test", id=one["id"], name=one["name"]), tag("code", one["base_url"])
        rows.append((name, one["provider"], one["model"], address, _state_badge(one), test))
    shown = data_table(("Name", "Provider", "Model", "Address", "State", ""), rows)
    return titled_card("Model connections", shown, aside=new)


def _state_badge(one: Connection) -> SafeHtml:
    if not one["enabled"]:
        return state_badge("off", "grey")
    return state_badge("on, with key" if one["has_key"] else "on, without key", "green")


def _new_connection_form(providers: Sequence[Record], wanted: str) -> SafeHtml:
    chosen = next((one for one in providers if one["provider"] == wanted), None)
    back = link_to("← All connections", page_address("models"))
    if chosen is None:
        names = {one["provider"]: one["label"] for one in providers}
        tiles = ((name, PLACES.get(id_, ""), page_address("models", new=id_)) for id_, name in names.items())
        return join_html(back, choice_tiles("Which provider?", tiles))
    place = PLACES.get(chosen["provider"], "")
    whole = "…" not in place
    fields = field_grid(
        ADD.text("name", "Name", chosen["label"], required=True),
        ADD.text("base_url", "Address", place if whole else "", required=True, kind="url", hint=place),
        ADD.text("model", "Model", required=True, about="As the provider calls it."),
        ADD.text("key", "Key", kind="password", about="Stored sealed, never shown again."),
    )
    rest = field_grid(*_more_fields(ADD, {"auth_mode": chosen["auth_mode"]}))
    form = ADD(fields, tag("details", tag("summary", "More"), rest), send="Add", provider=chosen["provider"])
    return join_html(back, titled_card(f"Connect {chosen['label']}", form))


def _more_fields(form: ActForm, one: Connection) -> list[SafeHtml]:
    return [
        form.choice("auth_mode", "How the key is sent", MODES, one.get("auth_mode") or ""),
        form.text("auth_header", "Header of its own", one.get("auth_header") or ""),
        form.text("price_in", "USD for a million tokens in", f"{one.get('price_in', 0):g}", inputmode="decimal"),
        form.text("price_out", "USD for a million tokens out", f"{one.get('price_out', 0):g}", inputmode="decimal"),
        form.text("seconds", "Longest silence in seconds", f"{one.get('seconds', 120):g}", inputmode="decimal"),
        form.switch("default", "Ask this one where an agent names none", bool(one.get("default"))),
    ]


def _connection_view(one: Connection) -> SafeHtml:
    back, at = link_to("← All connections", page_address("models")), one["endpoint"]
    known = fact_list(
        (
            ("State", _state_badge(one)),
            ("Provider", one["provider"]),
            ("Model", one["model"]),
            ("Address", tag("code", one["base_url"])),
            ("Answers at", tag("code", at) if at else "not known before the first test"),
            ("Tools", "natively" if one["supports_tools"] else "described in words"),
        )
    )
    id_ = {"id": one["id"], "name": one["name"]}
    test = TEST.button("Test it", "primary", **id_)
    aside = state_badge("default", "blue") if one["default"] else None
    if one["origin"] != "row":
        where = "the settings LLM_*" if one["origin"] == "settings" else "the file of connections"
        fixed = quiet_text(f"It is configured in {where} and is changed there.")
        return join_html(back, titled_card(one["name"], known, fixed, test, aside=aside))
    warning = "Its key is forgotten; agents that name it use their next one."
    delete = DELETE.confirmed("Delete …", warning, "Delete", **id_)
    head = titled_card(one["name"], known, tag("div", test, delete, class_="aos-row"), aside=aside)
    fields = field_grid(
        CHANGE.text("name", "Name", one["name"]),
        CHANGE.text("base_url", "Address", one["base_url"], "Another address needs the key again.", kind="url"),
        CHANGE.text("model", "Model", one["model"]),
        CHANGE.switch("enabled", "In use", one["enabled"]),
        *_more_fields(CHANGE, one),
    )
    form = CHANGE(fields, send="Save", changed=True, id=one["id"])
    held = "There is one; the new one takes its place." if one["has_key"] else "There is none."
    about = f"Stored sealed and never shown. {held}"
    new = KEY.text("key", "New key", kind="password", required=True, about=about)
    key = KEY(new, send="Store the key", colour="", **id_)
    return join_html(back, head, titled_card("Change", form), titled_card("Key", key))


def body_of(values: Values) -> dict[str, Any]:
    """Request body from a form's texts; an unparsable number is sent as text for the API to refuse."""
    found: dict[str, Any] = {name: values[name] for name in ("name", "base_url", "model", "provider") if name in values}
    found |= {name: values[name] for name in ("key", "auth_header") if values.get(name)}
    found |= {name: values[name] == "true" for name in ("enabled", "default") if name in values}
    found |= {name: _number_or_text(values[name]) for name in ("price_in", "price_out", "seconds") if name in values}
    return found | ({"auth_mode": values["auth_mode"] or None} if "auth_mode" in values else {})


def _number_or_text(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


async def _add_connection(api: SessionApi, values: Values) -> ActResult:
    made = await api.post("/api/llm-connections", body_of(values))
    found = await api.post(api_route("llm-connections", made["id"], "test"))
    said = join_html(success_note(tag("strong", made["name"]), " is added."), probe_result(made["name"], found))
    return ActResult(said, page_query("models", id=made["id"]))


async def _change_connection(api: SessionApi, values: Values) -> ActResult:
    body = body_of({name: value for name, value in values.items() if name != "id"})
    after = await api.patch(api_route("llm-connections", values["id"]), body)
    return act_done(tag("strong", after["name"]), " is saved. Calls that have begun go on as they began.")


async def _rotate_key(api: SessionApi, values: Values) -> ActResult:
    if not values.get("key"):
        raise ApiProblem(ProblemReport("There is no key.", "key: type it first", "", 422, "invalid"))
    await api.put(api_route("llm-connections", values["id"], "key"), {"key": values["key"]})
    return act_done("The new key is stored; the next call is signed with it.")


async def _delete_connection(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("llm-connections", values["id"]))
    return act_done(f"{values.get('name', 'It')} is deleted, and its key.", to=page_query("models"))


async def _probe_connection(api: SessionApi, values: Values) -> ActResult:
    found = await api.post(api_route("llm-connections", values["id"], "test"))
    return ActResult(probe_result(values.get("name", "It"), found))


def probe_result(name: str, found: Record) -> SafeHtml:
    """Result of a connection test: latency and models, or the error with its fix."""
    took = format_duration(found["latency_ms"] / 1000)
    if not found["ok"]:
        what = (found["reason"] or "failed").replace("_", " ")
        fix = FIXES.get(found["reason"] or "", "Check address and key.")
        said = tag("strong", f"{name} does not answer as it should: {what}, after {took}.")
        detail = tag("p", found["detail"]) if found["detail"] else None
        todo = tag("p", tag("b", "What to try: "), fix)
        return tag("div", said, detail, todo, class_="aos-problem", role="alert")
    at = tag("p", "at ", tag("code", found["endpoint"] or "?"))
    return success_note(tag("strong", f"{name} answers in {took}"), at, _model_listing(found))


def _model_listing(found: Record) -> Child:
    models = found["models"]
    if found["model_listed"] is False:
        some = ", ".join(models[:MOST_LISTED]) + (" …" if len(models) > MOST_LISTED else "")
        return tag("p", state_badge("look at it", "amber"), f" {found['detail']}. It has: {some or 'none'}.")
    return tag("p", f"It lists {format_count(len(models), 'model')}, this one among them.") if models else None


SECTION = SystemSection(
    "models",
    "Models",
    Role.OPERATOR,
    _show_connections,
    {
        ADD.act: _add_connection,
        CHANGE.act: _change_connection,
        KEY.act: _rotate_key,
        TEST.act: _probe_connection,
        DELETE.act: _delete_connection,
    },
)
