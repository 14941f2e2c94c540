"""Search results: a summary of the stages, the bump chart, and the passages with their scores."""

from collections.abc import Collection
from typing import Final

from serve_apps.ui.kit.blocks import Colour, empty_state, link_to, state_badge, titled_card
from serve_apps.ui.kit.caveats import caveat_badges
from serve_apps.ui.kit.formats import format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.search.asked import LabQuery
from serve_apps.ui.search.bump import bump_chart, passage_anchor, passage_hue
from serve_apps.ui.search.passage_view import (
    STAGES,
    TITLES,
    RankedPassage,
    box_query,
    explained_passages,
    notable_passages,
)
from serve_apps.ui.search.stages import packed_context_card, search_summary, took_part

HOW: Final = (
    "Each number is a rank; follow a line by pointing at it or with Tab, Enter leads to the passage. "
    "Dashed: a stage in between did not find it."
)
LONG: Final = 300  # characters of a passage that are shown before it is opened


def found_view(console: ConsoleContext, asked: LabQuery, found: Record) -> SafeHtml:
    """All of it, top down: where it comes from, how it moved, what it says."""
    passages, on = explained_passages(found), took_part(found)
    link = link_to("Link to this search", console.link("search", **asked.query()))
    head = titled_card("What happened", search_summary(found, console.link("index")), aside=link)
    if not passages:
        return join_html(head, _no_result(asked, found))
    chosen = notable_passages(passages, asked.shown)
    how = tag("p", HOW, class_="quiet lab-how")
    chart = titled_card("Passages through the stages", how, bump_chart(chosen, asked.shown, on))
    items = tag("ol", [_passage_item(console, one, on) for one in chosen], class_="lab-passages")
    listed = titled_card("Passages, best first", items)
    most = next((stage["detail"] for stage in found["explain"]["stages"] if stage["name"] == "pack"), "")
    return join_html(head, chart, listed, packed_context_card(found["packed"], most))


def _no_result(asked: LabQuery, found: Record) -> SafeHtml:
    narrowed = any((asked.type, asked.file, asked.since, asked.until, asked.agent))
    if narrowed:
        return empty_state("No passage was found.", "The filters may leave nothing over: try it without them.")
    if asked.preset != "none":
        return empty_state("No passage is similar enough.", "Try it without a least similarity.")
    if found["generation"] is None:
        todo = "Upload documents first; they can be searched once they are read."
        return empty_state("Nothing is indexed yet.", todo)
    return empty_state("No passage was found.", "Try other words, or the strategy hybrid.")


def _passage_item(console: ConsoleContext, one: RankedPassage, on: Collection[str]) -> SafeHtml:
    hit = one.hit
    number = tag("b", one.place, class_=f"lab-number hue-{passage_hue(one)}")
    if hit is None:
        head = tag(
            "div", number, link_to(one.name, console.link("documents", id=one.document)), class_="lab-passage-head"
        )
        return tag("li", head, _stage_scores(one, on), id=passage_anchor(one))
    where = link_to(tag("b", one.name), console.link("documents", **box_query(hit)))
    about = [state_badge(hit["engine"], "grey")]
    if hit["ocr_confidence"] is not None:
        sure = hit["ocr_confidence"]
        colour: Colour = "green" if sure >= 0.9 else "amber" if sure >= 0.7 else "red"
        about.append(state_badge(f"read with {format_percent(sure)} confidence", colour))
    about += caveat_badges(hit)
    if "pack" in on:
        about.append(state_badge("packed", "blue") if "pack" in one.ranks else state_badge("not packed", "grey"))
    under = " › ".join(hit["headings"])
    head = tag("div", number, where, tag("span", about, class_="lab-badges"), class_="lab-passage-head")
    below, text = tag("div", under, class_="quiet lab-under") if under else None, _passage_text(hit["text"])
    return tag("li", head, below, text, _stage_scores(one, on), id=passage_anchor(one), tabindex=-1)


def _passage_text(text: str) -> SafeHtml:
    if len(text) <= LONG:
        return tag("p", text, class_="lab-text")
    cut = tag("span", f"{text[:LONG].rsplit(' ', 1)[0]} …", class_="lab-text short")
    return tag("details", tag("summary", cut), tag("p", text, class_="lab-text"))


def _stage_scores(one: RankedPassage, on: Collection[str]) -> SafeHtml:
    told = []
    for stage in STAGES:
        if stage not in on:
            continue
        rank, score = one.ranks.get(stage), one.scores.get(stage)
        place = f"#{rank}" if rank is not None else "left out" if stage == "pack" else "not found"
        sure = tag("small", f"{score:.4g}") if score is not None else None
        class_ = None if rank is not None else "off"
        told.append(tag("span", tag("small", TITLES[stage]), tag("b", place), sure, class_=class_))
    return tag("div", told, class_="lab-scores")
