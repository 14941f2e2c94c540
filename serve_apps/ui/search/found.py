"""Search results: a summary of the stages, the bump chart, and the passages with their scores."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from serve_apps.ui.kit.blocks import badge, card, empty, link
from serve_apps.ui.kit.caveats import badges
from serve_apps.ui.kit.formats import percent
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.search.asked import Asked
from serve_apps.ui.search.bump import anchor, bump, hue
from serve_apps.ui.search.passage_view import STAGES, TITLES, Passage, box_query, journey, notable
from serve_apps.ui.search.stages import context, summary, took_part

HOW: Final = (
    "Each number is a rank; follow a line by pointing at it or with Tab, Enter leads to the passage. "
    "Dashed: a stage in between did not find it."
)
LONG: Final = 300  # characters of a passage that are shown before it is opened


def found_view(desk: Desk, asked: Asked, found: Mapping[str, Any]) -> Html:
    """All of it, top down: where it comes from, how it moved, what it says."""
    passages, on = journey(found), took_part(found)
    head = card("What happened", summary(found, desk.link("index")), aside=_link(desk, asked))
    if not passages:
        return join(head, _nothing(asked, found))
    chosen = notable(passages, asked.shown)
    chart = card("Passages through the stages", tag("p", HOW, class_="quiet lab-how"), bump(chosen, asked.shown, on))
    listed = card("Passages, best first", tag("ol", [passage(desk, one, on) for one in chosen], class_="lab-passages"))
    most = next((stage["detail"] for stage in found["explain"]["stages"] if stage["name"] == "pack"), "")
    return join(head, chart, listed, context(found["packed"], most))


def _link(desk: Desk, asked: Asked) -> Html:
    return link("Link to this search", desk.link("search", **asked.query()))


def _nothing(asked: Asked, found: Mapping[str, Any]) -> Html:
    narrowed = any((asked.type, asked.file, asked.since, asked.until, asked.agent))
    if narrowed:
        return empty("No passage was found.", "The filters may leave nothing over: try it without them.")
    if asked.preset != "none":
        return empty("No passage is similar enough.", "Try it without a least similarity.")
    if found["generation"] is None:
        return empty("Nothing is indexed yet.", "Upload documents first; they can be searched once they are read.")
    return empty("No passage was found.", "Try other words, or the strategy hybrid.")


def passage(desk: Desk, one: Passage, on: Collection[str]) -> Html:
    """A passage with what each stage thought of it."""
    hit = one.hit
    number = tag("b", one.place, class_=f"lab-number hue-{hue(one)}")
    if hit is None:
        head = link(one.name, desk.link("documents", id=one.document))
        return tag("li", tag("div", number, head, class_="lab-passage-head"), _scores(one, on), id=anchor(one))
    where = link(tag("b", one.name), desk.link("documents", **box_query(hit)))
    about = [badge(hit["engine"], "grey")]
    if hit["ocr_confidence"] is not None:
        sure = hit["ocr_confidence"]
        about.append(
            badge(
                f"read with {percent(sure)} confidence", "green" if sure >= 0.9 else "amber" if sure >= 0.7 else "red"
            )
        )
    about += badges(hit)
    if "pack" in on:
        about.append(badge("packed", "blue") if "pack" in one.ranks else badge("not packed", "grey"))
    under = " › ".join(hit["headings"])
    return tag(
        "li",
        tag("div", number, where, tag("span", about, class_="lab-badges"), class_="lab-passage-head"),
        tag("div", under, class_="quiet lab-under") if under else None,
        _text(hit["text"]),
        _scores(one, on),
        id=anchor(one),
        tabindex=-1,
    )


def _text(text: str) -> Html:
    if len(text) <= LONG:
        return tag("p", text, class_="lab-text")
    cut = text[:LONG].rsplit(" ", 1)[0]
    return tag(
        "details", tag("summary", tag("span", f"{cut} …", class_="lab-text short")), tag("p", text, class_="lab-text")
    )


def _scores(one: Passage, on: Collection[str]) -> Html:
    told = []
    for stage in STAGES:
        if stage not in on:
            continue
        rank, score = one.ranks.get(stage), one.scores.get(stage)
        place = f"#{rank}" if rank is not None else "left out" if stage == "pack" else "not found"
        told.append(
            tag(
                "span",
                tag("small", TITLES[stage]),
                tag("b", place),
                tag("small", f"{score:.4g}") if score is not None else None,
                class_=None if rank is not None else "off",
            )
        )
    return tag("div", told, class_="lab-scores")
