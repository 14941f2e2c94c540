"""Scanning a folder of the server: choose it, see what it would take, then start."""

import asyncio

from serve_apps.ui.ingest.job import act_button
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, key_figure, key_figures, problem_card, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration, format_number
from serve_apps.ui.kit.html import Child, Record, SafeHtml, quiet_text, tag
from serve_apps.ui.kit.problem import ApiProblem

SHOWN = 60


async def folder_chooser(api: SessionApi, path: str, said: SafeHtml | None = None, agent: str = "") -> SafeHtml:
    """The form, standing at a folder; `said` is what came of the last question."""
    try:
        place, agents = await asyncio.gather(
            api.get("/api/documents/folders", at=path), api.get("/api/agents", limit=200)
        )
    except ApiProblem as problem:
        back = act_button("Back to the top folder", "open", "top") if path else None
        return titled_card("Scan a folder", said, problem_card(problem.told), back)
    return scan_form(place, agents["items"], said, agent)


def scan_form(place: Record, agents: list[Record], said: SafeHtml | None, agent: str) -> SafeHtml:
    """Form to scan a folder: path, subfolders, agent, and the buttons to estimate and start."""
    path = place["path"]
    confined = "Folders on the server, at or below ", tag("code", place["base"]), ". Files stay where they are."
    plain = {"autocomplete": "off", "spellcheck": "false"}
    box = tag("input", name="folder", value=path or ".", maxlength=4096, id="folder", **plain)
    names = [one["name"] for one in agents if not one["whole_workspace"]]
    options = [tag("option", "none", value="")]
    options += [tag("option", name, value=name, selected=name == agent) for name in names]
    who = tag("label", tag("span", "Link to agent"), tag("select", options, name="agent", id="scan-agent"))
    first, now = act_button("Estimate first", "estimate", "estimate", "primary"), act_button("Scan now", "scan", "scan")
    buttons = tag("div", first, now, class_="actions")
    folder = tag("label", tag("span", "Folder or file"), box, class_="wide")
    asked, about = tag("form", folder, who, buttons, class_="doc-filters"), tag("p", confined, class_="quiet doc-gap")
    return titled_card("Scan a folder", about, asked, _folder_contents(place), said)


def estimate_view(found: Record) -> SafeHtml:
    """Result of a dry run: files, pages, time, and the files left out with their reasons."""
    if not found["files"]:
        return empty_state("There are no files in this folder.", "Choose another one; hidden files are left out.")
    about, least = "" if found["exact"] else "about ", "" if found["complete"] else "at least "
    known = f"{about}{format_number(found['unchanged'])} known, unchanged"
    row = key_figures(
        key_figure("Files", least + format_number(found["files"]), about=known),
        key_figure("Pages to read", about + format_number(found["pages"]), about="of files that are new or changed"),
        key_figure("Time", _time_estimate(found), about=_pace_note(found)),
    )
    passed = {kind.replace("_", " "): count for kind, count in found.get("passed_over", {}).items()}
    seen = f"Looked into {format_number(found['looked_at'])} of the files, spread over all; the rest is inferred."
    cut = f"There was no time to walk all of it: it holds {least}{format_count(found['files'], 'file')}."
    start = act_button("Start this scan", "scan", "start", "primary")
    lines: list[Child] = [
        _count_badges("Kinds: ", found["kinds"]),
        _count_badges("Cannot be read: ", found["reasons"], bad=True),
        _count_badges("Passed over: ", passed),
        None if found["complete"] else tag("p", tag("b", cut), " The other figures are of those."),
        None if found["exact"] else quiet_text(seen),
    ]
    hidden = tag("input", type="hidden", name="folder", value=found["root"])
    agent = tag("input", type="hidden", name="agent", value=found.get("agent", ""))
    head = tag("strong", f"A dry run of {found['root']}: nothing was started.")
    return tag("div", head, row, lines, tag("form", hidden, agent, start), class_="doc-estimate", role="status")


def _time_estimate(found: Record) -> str:
    if not found["pages"]:
        return "none"
    return "not known" if found["seconds"] is None else f"about {format_duration(max(1.0, found['seconds']))}"


def _pace_note(found: Record) -> str:
    if found["pages_per_second"] is None:
        return "no job has read pages here yet"
    return f"at {found['pages_per_second']:,.2f} pages a second, as the last {format_count(found['jobs'], 'job')}"


def _folder_contents(place: Record) -> SafeHtml:
    path = place["path"]
    up = path.rpartition("/")[0]
    buttons = [act_button("↑ up", "open", "up", "small", up)] if path else []
    for n, name in enumerate(place["folders"][:SHOWN]):
        buttons.append(act_button(f"{name}/", "open", f"folder-{n}", "small", f"{path}/{name}" if path else name))
    more = " and more" if place["more"] or len(place["folders"]) > SHOWN else ""
    said = f"{format_count(place['files'], 'file')} and {format_count(len(place['folders']), 'folder')}{more} here"
    return tag("div", quiet_text(said), tag("div", buttons, class_="doc-folders"), class_="doc-gap")


def _count_badges(title: str, counts: Record, bad: bool = False) -> SafeHtml | None:
    told = [f"{format_number(counts[name])} {name}" for name in sorted(counts)]
    return tag("p", title, [(state_badge(one, "amber" if bad else "grey"), " ") for one in told]) if told else None
