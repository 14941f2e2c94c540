"""Policies on data: those that hold here with the standards behind them; made, tried and retired."""

from collections.abc import Mapping
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_state, state_badge, titled_card
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
    page_address,
    page_query,
)

ADD, RETIRE = ActForm("policies.add"), ActForm("policies.retire")
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
PLACES: Final = ("documents", "journals", "answers", "search")
REACHES: Final = (("", "this workspace"), ("tenant", "all workspaces of the tenant"))
INTENTS: Final = (("try", "only tell what it would touch"), ("make", "let it hold from now on"))


async def _show_policies(api: SessionApi, asked: Query) -> SafeHtml:
    if "new" in asked:
        found = await api.get("/api/data-governance/references")
        return titled_card("Make a policy", new_policy_form([one["id"] for one in found["items"]]))
    return policy_list(await api.get(POLICIES))


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
    about = f"{one['reach']}, version {one['version']}"
    if one["created_at"]:
        about += f", {format_moment(one['created_at'])}"
    retire: Child = None
    if one["reach"] != SHIPPED:
        why = "It holds no longer, from now on. What was masked under it stays masked; its versions stay on record."
        retire = tag("div", RETIRE.confirmed("Retire …", why, "Retire", policy=one["id"], name=one["name"]))
    shown = data_table(("Standard", "Title", "Scope"), rows) if rows else None
    return titled_card(one["name"], quiet_text(about), quiet_text(one["description"]), fact_list(said), shown, retire)


def new_policy_form(references: list[str]) -> SafeHtml:
    """Actions by place; classes are made with `aos governance add` from a file."""
    known = f"Separated by commas: {', '.join(references)}."
    fields = field_grid(
        ADD.text("name", "Name", required=True),
        ADD.text("references", "Standards", about=known),
        ADD.choice("documents", "Pages of documents", DOCUMENTS, "", "Pages that are read from now on."),
        ADD.choice("journals", "Rows of runs", JOURNALS, "", "Runs that begin from now on."),
        ADD.choice("answers", "Answers", ANSWERS, "", "Turns that begin from now on."),
        ADD.choice("search", "Passages of a search", SEARCH, ""),
        ADD.choice("reach", "Holds for", REACHES, ""),
        ADD.choice("intent", "Now", INTENTS, "try"),
    )
    return ADD(fields, ADD.area("description", "Description"), send="Send")


def effect_note(effect: Mapping[str, Any]) -> str:
    """What a policy would touch, in a sentence."""
    pages = f"{effect['pages_with_finds']} of {effect['pages_looked_at']} pages"
    more = "" if effect["complete"] else ", and there are more pages than were looked at"
    return (
        f"It would touch {pages} and {effect['messages']} messages of {effect['runs']} runs here{more}."
        " Nothing was changed."
    )


async def _add_policy(api: SessionApi, values: Values) -> ActResult:
    references = [part.strip() for part in values.get("references", "").split(",") if part.strip()]
    pii = {place: values[place] for place in PLACES if values.get(place)}
    body = {"description": values.get("description", ""), "references": references, "pii": pii}
    dry = values.get("intent", "try") != "make"
    wanted = {"name": values.get("name", ""), "body": body, "dry_run": dry}
    done = await api.post(POLICIES, wanted | {"tenant_wide": values.get("reach") == "tenant"})
    if dry:
        return act_done(effect_note(done["effect"]))
    return act_done(tag("strong", done["policy"]["name"]), " holds from now on.", to=page_query("policies"))


async def _retire_policy(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("data-governance", "policies", values["policy"]))
    return act_done(f"{values.get('name', 'The policy')} holds no longer.", to=page_query("policies"))


SECTION = SystemSection(
    "policies", "Policies", Role.ADMIN, _show_policies, {ADD.act: _add_policy, RETIRE.act: _retire_policy}
)
