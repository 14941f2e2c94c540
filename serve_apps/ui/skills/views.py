"""Read-only views of skills: the list, and one skill with its parameters and versions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.agents.views import risk_badge, spaced
from serve_apps.ui.kit.blocks import badge, card, columns, empty, heading, link, table
from serve_apps.ui.kit.formats import many, moment, span
from serve_apps.ui.kit.html import Child, Html, join, tag
from serve_apps.ui.kit.page import PREFIX, Desk
from serve_apps.ui.kit.value_tables import shown
from serve_apps.ui.skills.schema import fields, kind_of

HERE: Final = f"{PREFIX}/skills"


def list_view(desk: Desk, found: Sequence[Mapping[str, Any]], total: int) -> Html:
    """A page of the catalogue."""
    if not found:
        todo = "Search for fewer words, or take a filter away."
        return empty(f"None of the {many(total, 'skill')} is like that.", todo)
    rows = [
        (
            join(
                link(one["name"], desk.link("skills", skill=one["name"])),
                tag("div", one["description"], class_="quiet"),
            ),
            spaced(one["category"]),
            one["type"],
            risk_badge(one["risk"]),
            (one["credential"] or "nothing").replace("_", " "),
            "ships" if one["origin"] == "shipped" else f"made here, version {one['version']}",
        )
        for one in found
    ]
    return table(("Skill", "Category", "Type", "Risk", "Credential", "Origin"), rows)


def skill_view(skill: Mapping[str, Any]) -> Html:
    """One skill: what it does, takes and needs, and what it was before."""
    newest = skill["versions"][0]
    origin = "ships with AOS" if skill["origin"] == "shipped" else "was made in this workspace"
    head = heading(skill["name"], (skill["description"], " ", link("All skills", HERE)), risk_badge(skill["risk"]))
    facts: list[tuple[str, Child]] = [
        ("Type", skill["type"]),
        ("Category", spaced(skill["category"])),
        ("May be used by", _roles(skill)),
        ("Time limit", span(skill["timeout"])),
        ("Credential", (skill["credential"] or "none").replace("_", " ")),
        ("Origin", f"It {origin}."),
        ("Runs", "in the sandbox" if skill["sandbox"] else "as part of AOS"),
        *[(name.replace("_", " ").capitalize(), shown(value)) for name, value in skill["options"].items()],
    ]
    more = [
        tag("details", tag("summary", title), tag("pre", text, class_="aos-text"), class_="aos-card")
        for title, text in (("Its text", newest["text"]), ("Its code", newest["code"]))
        if text
    ]
    versions = card("Versions", _versions(skill["versions"])) if skill["origin"] != "shipped" else None
    return join(
        head,
        columns(card("Parameters", parameters_view(skill["parameters"])), card("About", table(("", ""), facts))),
        more,
        versions,
    )


def parameters_view(schema: Mapping[str, Any]) -> Html:
    """JSON Schema as a table."""
    lines = fields(schema)
    if not lines:
        return empty("It takes no parameters.", "It is called as it is.")
    properties = schema["properties"]
    rows = [
        (
            join(tag("b", one.name), tag("div", "needed", class_="quiet") if one.required else None),
            kind_of(properties[one.name] if isinstance(properties[one.name], Mapping) else {}),
            join(tag("div", one.about) if one.about else None, _allowed(one.choices, one.limits)),
            "–" if one.default is None else str(one.default),
        )
        for one in lines
    ]
    return table(("Parameter", "Is", "Meaning", "Default"), rows)


def _allowed(choices: Sequence[Any], limits: str) -> Html | None:
    said = ", ".join(map(str, choices)) if choices else limits
    return tag("div", said, class_="quiet") if said else None


def _roles(skill: Mapping[str, Any]) -> str:
    return "everybody" if len(skill["permissions"]) == 4 else ", ".join(skill["permissions"]) or "nobody"


def _versions(versions: Sequence[Mapping[str, Any]]) -> Html:
    rows = [
        (
            join(str(one["version"]), " ", badge("newest", "green") if n == 0 else None),
            one["description"],
            moment(one["created_at"]),
            tag("code", one["sha256"][:12]),
        )
        for n, one in enumerate(versions)
    ]
    return table(("Version", "Description", "Made", "Fingerprint"), rows)
