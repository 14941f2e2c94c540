"""Policies on data: those that hold here with the standards behind them; made, tried and retired."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, fact_list, field_grid
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
)

ADD, CHANGE, RETIRE = ActForm("policies.add"), ActForm("policies.change"), ActForm("policies.retire")
POLICIES: Final = "/api/data-governance/policies"
SHIPPED: Final = "shipped"
ABOUT: Final = "What a tenant's policies say counts in place of what is shipped; a workspace only makes it stricter."
UNSAID: Final = ("", "say nothing")
DOCUMENTS: Final = (
    UNSAID,
    ("none", "leave as they are"),
    ("mark", "count finds on each page"),
    ("mask", "cover finds before a page is stored"),
)
JOURNALS: Final = (UNSAID, ("none", "keep what was said"), ("mask", "keep placeholders, values sealed beside"))
ANSWERS: Final = (
    UNSAID,
    ("none", "show answers as they are"),
    ("mark", "count finds in each answer"),
    ("mask", "take finds out of answers, streams and citations"),
)
SEARCH: Final = (UNSAID, ("none", "show passages as they are"), ("mask", "take finds out of passages"))
PLACES: Final = {
    "documents": ("Pages of documents", DOCUMENTS, "Pages that are read from now on."),
    "journals": ("Rows of runs", JOURNALS, "Runs that begin from now on."),
    "answers": ("Answers", ANSWERS, "Turns that begin from now on."),
    "search": ("Passages of a search", SEARCH, ""),
}
REACHES: Final = (("", "this workspace"), ("tenant", "all workspaces of the tenant"))
INTENTS: Final = (("try", "only tell what it would touch"), ("make", "let it hold from now on"))


async def _show_policies(api: SessionApi, asked: Query) -> SafeHtml:
    if "new" in asked:
        found = await api.get("/api/data-governance/references")
        return titled_card("Make a policy", new_policy_form([one["id"] for one in found["items"]]))
    body = await api.get(POLICIES)
    if "policy" not in asked:
        return policy_list(body)
    one = next((one for one in body["items"] if one["id"] == asked["policy"] and one["reach"] != SHIPPED), None)
    if one is None:
        raise missing_problem("policy")
    versions = await api.get(api_route("data-governance", "policies", one["id"], "versions"))
    return policy_view(one, versions["items"])


def policy_list(body: Record) -> SafeHtml:
    """What holds here, and each policy with its references."""
    new = action_link("Make a policy", page_address("policies", new=1))
    facts = fact_list((place, state_badge(action)) for place, action in body["effective"].items())
    effective = titled_card("Personal data is treated here like this", quiet_text(ABOUT), facts, aside=new)
    if not body["items"]:
        return join_html(effective, empty_state("There are no policies.", "Make one."))
    return join_html(effective, [_policy_card(one) for one in body["items"]])


def _policy_card(one: Mapping[str, Any]) -> SafeHtml:
    said = [
        *((f"personal data: {place}", action) for place, action in one["pii"].items()),
        *((f"class {each['name']}", each["access"] or "no hint") for each in one["classes"]),
    ]
    rows = [(each["standard"], each["title"], each["description"]) for each in one["references_resolved"]]
    since = join_html(", ", format_moment(one["created_at"])) if one["created_at"] else None
    about = join_html(f"{one['reach']}, version {one['version']}", since)
    retire: Child = None
    if one["reach"] != SHIPPED:
        why = "It holds no longer, from now on. What was masked under it stays masked; its versions stay on record."
        change = action_link("Change …", page_address("policies", policy=one["id"]))
        end = RETIRE.confirmed("Retire …", why, "Retire", policy=one["id"], name=one["name"])
        retire = tag("div", change, end, class_="aos-row")
    shown = data_table(("Standard", "Title", "Scope"), rows) if rows else None
    return titled_card(one["name"], quiet_text(about), quiet_text(one["description"]), fact_list(said), shown, retire)


def new_policy_form(references: list[str]) -> SafeHtml:
    """Actions by place; classes are made with `aos governance add` from a file."""
    known = f"Separated by commas: {', '.join(references)}."
    fields = field_grid(
        ADD.text("name", "Name", required=True),
        ADD.text("references", "Standards", about=known),
        *_place_choices(ADD, {}),
        ADD.choice("reach", "Holds for", REACHES, ""),
        ADD.choice("intent", "Now", INTENTS, "try"),
    )
    return ADD(fields, ADD.area("description", "Description"), send="Send")


def policy_view(one: Mapping[str, Any], versions: Sequence[Record]) -> SafeHtml:
    """Another version of a policy: what it would touch is told first; and the versions until now."""
    back = link_to("← All policies", page_address("policies"))
    fields = field_grid(
        CHANGE.text("name", "Name", one["name"], required=True),
        CHANGE.text("references", "Standards", ", ".join(one["references"]), "Separated by commas."),
        *_place_choices(CHANGE, one["pii"]),
        CHANGE.choice("intent", "Now", INTENTS, "try"),
    )
    description = CHANGE.area("description", "Description", one["description"])
    kept = {"policy": one["id"], "version": str(one["version"])}
    form = CHANGE(fields, description, send="Send", **kept)
    classes = f"Its classes stay as they are: {', '.join(each['name'] for each in one['classes'])}."
    about = quiet_text(classes) if one["classes"] else None
    rows = [
        (each["version"], each["name"], state_badge("holds", "green") if each["active"] else "", said_of(each["pii"]))
        for each in versions
    ]
    table = data_table(("Version", "Name", "", "Personal data"), rows)
    return join_html(back, titled_card(f"Change {one['name']}", about, form), titled_card("Versions", table))


def _place_choices(form: ActForm, pii: Mapping[str, str]) -> list[SafeHtml]:
    return [
        form.choice(place, title, choices, pii.get(place, ""), about)
        for place, (title, choices, about) in PLACES.items()
    ]


def said_of(pii: Mapping[str, str]) -> str:
    """What a policy says of personal data, in a line."""
    return ", ".join(f"{place}: {action}" for place, action in sorted(pii.items())) or "nothing"


def effect_note(effect: Mapping[str, Any]) -> str:
    """What a policy would touch, in a sentence."""
    pages = f"{effect['pages_with_finds']} of {effect['pages_looked_at']} pages"
    more = "" if effect["complete"] else ", and there are more pages than were looked at"
    return (
        f"It would touch {pages} and {effect['messages']} messages of {effect['runs']} runs here{more}."
        " Nothing was changed."
    )


async def _add_policy(api: SessionApi, values: Values) -> ActResult:
    dry = values.get("intent", "try") != "make"
    wanted = {"name": values.get("name", ""), "body": _policy_body(values), "dry_run": dry}
    done = await api.post(POLICIES, wanted | {"tenant_wide": values.get("reach") == "tenant"})
    if dry:
        return act_done(effect_note(done["effect"]))
    return act_done(tag("strong", done["policy"]["name"]), " holds from now on.", to=page_query("policies"))


async def _change_policy(api: SessionApi, values: Values) -> ActResult:
    id_, dry = values["policy"], values.get("intent", "try") != "make"
    last = next((one for one in (await api.get(POLICIES))["items"] if one["id"] == id_), None)
    if last is None:
        raise missing_problem("policy")
    body = _policy_body(values) | {"classes": last["classes"]}  # no field of the form shows them
    wanted = {"name": values.get("name", ""), "body": body, "version": int(values["version"]), "dry_run": dry}
    done = await api.put(api_route("data-governance", "policies", id_), wanted)
    if dry:
        return act_done(effect_note(done["effect"]))
    made = done["policy"]
    return act_done(tag("strong", made["name"]), f" is version {made['version']} now.", to=page_query("policies"))


def _policy_body(values: Values) -> dict[str, Any]:
    references = [part.strip() for part in values.get("references", "").split(",") if part.strip()]
    pii = {place: values[place] for place in PLACES if values.get(place)}
    return {"description": values.get("description", ""), "references": references, "pii": pii}


async def _retire_policy(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("data-governance", "policies", values["policy"]))
    return act_done(f"{values.get('name', 'The policy')} holds no longer.", to=page_query("policies"))


SECTION = SystemSection(
    "policies",
    "Policies",
    Role.ADMIN,
    _show_policies,
    {ADD.act: _add_policy, CHANGE.act: _change_policy, RETIRE.act: _retire_policy},
)
