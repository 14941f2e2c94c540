"""Read-only views of skills: the list, and one skill with its parameters and versions."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.agents.views import named_skill, risk_badge, spaced_category
from serve_apps.ui.kit.blocks import (
    card_columns,
    data_table,
    empty_state,
    link_to,
    page_heading,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_duration, format_moment
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.kit.value_tables import value_view
from serve_apps.ui.skills.schema import kind_of, schema_fields

HERE: Final = f"{PREFIX}/skills"


def list_view(console: ConsoleContext, found: Sequence[Record], total: int) -> SafeHtml:
    """A page of the catalogue."""
    if not found:
        todo = "Search for fewer words, or take a filter away."
        return empty_state(f"None of the {format_count(total, 'skill')} is like that.", todo)
    rows = [
        (
            named_skill(console, one["name"], one["description"]),
            spaced_category(one["category"]),
            one["type"],
            risk_badge(one["risk"]),
            (one["credential"] or "nothing").replace("_", " "),
            "ships" if one["origin"] == "shipped" else f"made here, version {one['version']}",
        )
        for one in found
    ]
    return data_table(("Skill", "Category", "Type", "Risk", "Credential", "Origin"), rows)


def skill_view(skill: Record) -> SafeHtml:
    """One skill: what it does, takes and needs, and what it was before."""
    newest = skill["versions"][0]
    origin = "ships with AOS" if skill["origin"] == "shipped" else "was made in this workspace"
    about = skill["description"], " ", link_to("All skills", HERE)
    head = page_heading(skill["name"], about, risk_badge(skill["risk"]))
    roles = "everybody" if len(skill["permissions"]) == 4 else ", ".join(skill["permissions"]) or "nobody"
    facts: list[tuple[str, Child]] = [
        ("Type", skill["type"]),
        ("Category", spaced_category(skill["category"])),
        ("May be used by", roles),
        ("Time limit", format_duration(skill["timeout"])),
        ("Credential", (skill["credential"] or "none").replace("_", " ")),
        ("Origin", f"It {origin}."),
        ("Runs", "in the sandbox" if skill["sandbox"] else "as part of AOS"),
        *[(name.replace("_", " ").capitalize(), value_view(value)) for name, value in skill["options"].items()],
    ]
    more = [
        tag("details", tag("summary", title), tag("pre", text, class_="aos-text"), class_="aos-card")
        for title, text in (("Its text", newest["text"]), ("Its code", newest["code"]))
        if text
    ]
    versions = titled_card("Versions", _version_table(skill["versions"])) if skill["origin"] != "shipped" else None
    taken = titled_card("Parameters", parameters_view(skill["parameters"]))
    return join_html(head, card_columns(taken, titled_card("About", data_table(("", ""), facts))), more, versions)


def parameters_view(schema: Record) -> SafeHtml:
    """JSON Schema as a table."""
    lines = schema_fields(schema)
    if not lines:
        return empty_state("It takes no parameters.", "It is called as it is.")
    properties = schema["properties"]
    rows = []
    for one in lines:
        name = tag("b", one.name), tag("div", "needed", class_="quiet") if one.required else None
        kind = kind_of(properties[one.name] if isinstance(properties[one.name], Mapping) else {})
        allowed = ", ".join(map(str, one.choices)) or one.limits
        said = tag("div", allowed, class_="quiet") if allowed else None
        about = tag("div", one.about) if one.about else None, said
        rows.append((name, kind, about, "–" if one.default is None else str(one.default)))
    return data_table(("Parameter", "Is", "Meaning", "Default"), rows)


def _version_table(versions: Sequence[Record]) -> SafeHtml:
    rows = []
    for n, one in enumerate(versions):
        number = join_html(str(one["version"]), " ", state_badge("newest", "green") if n == 0 else None)
        rows.append((number, one["description"], format_moment(one["created_at"]), tag("code", one["sha256"][:12])))
    return data_table(("Version", "Description", "Made", "Fingerprint"), rows)
