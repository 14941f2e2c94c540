"""Scanning a folder of the server: choose it, see what it would take, then start."""

import asyncio
from collections.abc import Mapping
from typing import Any

from serve_apps.ui.ingest.job import act
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, figure, figures, problem_card
from serve_apps.ui.kit.formats import many, number, span
from serve_apps.ui.kit.html import Child, Html, join, tag
from serve_apps.ui.kit.problem import Problem

SHOWN = 60


async def chooser(api: Api, path: str, said: Html | None = None, agent: str = "") -> Html:
    """The form, standing at a folder; `said` is what came of the last question."""
    try:
        place, agents = await asyncio.gather(
            api.get("/api/documents/folders", at=path), api.get("/api/agents", limit=200)
        )
    except Problem as problem:
        back = act("Back to the top folder", "open", "top") if path else None
        return card("Scan a folder", said, problem_card(problem.told), back)
    return form(place, agents["items"], said, agent)


def form(place: Mapping[str, Any], agents: list[Mapping[str, Any]], said: Html | None, agent: str) -> Html:
    """Form to scan a folder: path, subfolders, agent, and the buttons to estimate and start."""
    path = place["path"]
    confined = join("Folders on the server, at or below ", tag("code", place["base"]), ". Files stay where they are.")
    box = tag(
        "input", name="folder", value=path or ".", maxlength=4096, id="folder", autocomplete="off", spellcheck="false"
    )
    options = [tag("option", "none", value="")]
    options += [
        tag("option", one["name"], value=one["name"], selected=one["name"] == agent)
        for one in agents
        if not one["whole_workspace"]
    ]
    who = tag("label", tag("span", "Link to agent"), tag("select", options, name="agent", id="scan-agent"))
    buttons = tag(
        "div",
        act("Estimate first", "estimate", "estimate", "primary"),
        act("Scan now", "scan", "scan"),
        class_="actions",
    )
    asked = tag(
        "form", tag("label", tag("span", "Folder or file"), box, class_="wide"), who, buttons, class_="doc-filters"
    )
    return card("Scan a folder", tag("p", confined, class_="quiet doc-gap"), asked, _inside(place), said)


def _passed(found: Mapping[str, Any]) -> list[tuple[str, int]]:
    return sorted(found.get("passed_over", {}).items())


def estimated(found: Mapping[str, Any]) -> Html:
    """Result of a dry run: files, pages, time, and the files left out with their reasons."""
    if not found["files"]:
        return empty("There are no files in this folder.", "Choose another one; hidden files are left out.")
    about, least = "" if found["exact"] else "about ", "" if found["complete"] else "at least "
    row = figures(
        figure("Files", least + number(found["files"]), about=f"{about}{number(found['unchanged'])} known, unchanged"),
        figure("Pages to read", about + number(found["pages"]), about="of files that are new or changed"),
        figure("Time", _time(found), about=_pace(found)),
    )
    kinds = [badge(f"{number(count)} {kind}", "grey") for kind, count in sorted(found["kinds"].items())]
    bad = [badge(f"{number(count)} {reason}", "amber") for reason, count in sorted(found["reasons"].items())]
    passed = [badge(f"{number(count)} {kind.replace('_', ' ')}", "grey") for kind, count in _passed(found)]
    seen = (
        None
        if found["exact"]
        else f"Looked into {number(found['looked_at'])} of the files, spread over all; the rest is inferred."
    )
    cut = f"There was no time to walk all of it: it holds {least}{many(found['files'], 'file')}."
    start = act("Start this scan", "scan", "start", "primary")
    lines: list[Child] = [
        tag("p", "Kinds: ", _spaced(kinds)) if kinds else None,
        tag("p", "Cannot be read: ", _spaced(bad)) if bad else None,
        tag("p", "Passed over: ", _spaced(passed)) if passed else None,
        None if found["complete"] else tag("p", tag("b", cut), " The other figures are of those."),
        tag("p", seen, class_="quiet") if seen else None,
    ]
    hidden = tag("input", type="hidden", name="folder", value=found["root"])
    return tag(
        "div",
        tag("strong", f"A dry run of {found['root']}: nothing was started."),
        row,
        lines,
        tag("form", hidden, tag("input", type="hidden", name="agent", value=found.get("agent", "")), start),
        class_="doc-estimate",
        role="status",
    )


def _time(found: Mapping[str, Any]) -> str:
    if not found["pages"]:
        return "none"
    return "not known" if found["seconds"] is None else f"about {span(max(1.0, found['seconds']))}"


def _pace(found: Mapping[str, Any]) -> str:
    if found["pages_per_second"] is None:
        return "no job has read pages here yet"
    return f"at {found['pages_per_second']:,.2f} pages a second, as the last {many(found['jobs'], 'job')}"


def _inside(place: Mapping[str, Any]) -> Html:
    path = place["path"]
    up = path.rpartition("/")[0]
    buttons = [act("↑ up", "open", "up", "small", up)] if path else []
    for n, name in enumerate(place["folders"][:SHOWN]):
        buttons.append(act(f"{name}/", "open", f"folder-{n}", "small", f"{path}/{name}" if path else name))
    more = " and more" if place["more"] or len(place["folders"]) > SHOWN else ""
    said = f"{many(place['files'], 'file')} and {many(len(place['folders']), 'folder')}{more} here"
    return tag("div", tag("p", said, class_="quiet"), tag("div", buttons, class_="doc-folders"), class_="doc-gap")


def _spaced(those: list[Html]) -> list[Child]:
    return [part for one in those for part in (one, " ")]
