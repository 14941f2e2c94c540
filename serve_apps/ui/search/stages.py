"""Views of the search stages: where results came from, timings, what was left out, and the packed context."""

from collections.abc import Mapping
from typing import Final

from serve_apps.ui.kit.blocks import Colour, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag

# Parts of the time in the order in which they happen; `total` is the whole.
PARTS: Final = ("resolve", "cache", "enhance", "keyword", "vector", "fuse", "filter", "rerank", "load", "pack")
OUTCOMES: Final[Mapping[str, Colour]] = {"hit": "green", "miss": "blue", "bypass": "grey"}
OF_STAGE: Final = {"fuse": "fused", "rerank": "rerank"}


def took_part(found: Record) -> set[str]:
    """The stages of the chart that were on."""
    on = {OF_STAGE.get(stage["name"], stage["name"]) for stage in found["explain"]["stages"] if stage["on"]}
    scored = {name for one in found["explain"]["candidates"] for name in one["scores"]}
    return on | ({"fused"} if "fused" in scored else set())


def search_summary(found: Record, generations: str | None) -> SafeHtml:
    """The cache's decision, what there was to choose from, the index, and what was left out."""
    explain = found["explain"]
    index = f"generation {found['generation']}" if found["generation"] is not None else "no index yet"
    told = [
        _cache_decision(explain["cache"]),
        tag("span", tag("b", format_number(found["total_results"])), " passages found"),
        tag("span", "Index: ", link_to(index, generations)),
        tag("span", f"Words by {found['keyword_engine']}, meaning by {found['vector']}"),
    ]
    if explain["min_similarity"] is not None:
        told.append(tag("span", f"Least similarity {explain['min_similarity']:g}"))
    fell = tag("p", state_badge("fallback", "amber"), " ", found["fallback"], class_="lab-fallback")
    fallback = fell if found["fallback"] else None
    facts = tag("div", told, class_="lab-facts")
    return join_html(facts, fallback, _timing_bar(found["timings_ms"]), _stage_strip(explain))


def _cache_decision(decision: Record | None) -> SafeHtml:
    if decision is None:
        return tag("span", state_badge("no cache", "grey"))
    near = decision["similarity"]
    told = [decision["reason"]]
    if near is not None and decision["question"]:
        told.append(f"nearest, {near:.3f}: “{decision['question']}”")
    if decision["age_seconds"] is not None:
        told.append(f"worked out {format_duration(decision['age_seconds'])} ago")
    if decision["shared"]:
        told.append("shared with somebody who asked the same")
    outcome = decision["outcome"]
    return tag("span", state_badge(f"cache {outcome}", OUTCOMES.get(outcome, "grey")), " ", "; ".join(told))


def _timing_bar(spent: Mapping[str, float]) -> SafeHtml:
    parts = [(name, spent[name]) for name in PARTS if spent.get(name, 0) > 0]
    parts += [(name, ms) for name, ms in spent.items() if name not in (*PARTS, "total") and ms > 0]
    total = max(spent.get("total", 0.0), 0.001)
    # The legs run side by side, so their times may add up to more than the whole.
    whole = max(sum(ms for _, ms in parts), total)
    pieces = []
    for name, ms in parts:
        class_, title = f"piece time-{_part_class(name)}", f"{name}: {_format_ms(ms)}"
        pieces.append(tag("span", style=f"width:{ms / whole * 100:.2f}%", class_=class_, title=title))
    legend = [
        tag("li", tag("i", class_=f"time-{_part_class(name)}"), f"{name} {_format_ms(ms)}")
        for name, ms in parts
        if ms / whole > 0.01
    ]
    said = ", ".join(f"{name} {_format_ms(ms)}" for name, ms in parts)
    bar = tag("div", pieces, class_="lab-bar", role="img", aria_label=f"{_format_ms(total)} in all: {said}")
    return tag("div", tag("b", _format_ms(total)), bar, tag("ul", legend), class_="lab-times")


def _part_class(name: str) -> str:
    return name if name in PARTS else "other"


def _format_ms(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 10 else format_duration(ms / 1000)


def _stage_strip(explain: Record) -> SafeHtml:
    stages = []
    for stage in explain["stages"]:
        left = "off" if not stage["on"] else f"{stage['kept']} left" if stage["kept"] is not None else ""
        detail = tag("small", stage["detail"].removeprefix("off: "), title=stage["detail"])
        name, class_ = tag("b", stage["name"].replace("_", " ")), None if stage["on"] else "off"
        stages.append(tag("li", name, tag("span", left), detail, class_=class_))
    listed = tag("ul", [tag("li", one) for one in explain["variations"]])
    also = tag("b", "Also searched for, as a model put it"), listed
    said = tag("div", also, class_="lab-variations") if explain["variations"] else None
    return join_html(tag("ol", stages, class_="lab-stages", aria_label="Stages"), said)


def packed_context_card(packed: Record | None, most: str) -> SafeHtml | None:
    """The packed context; `most` is the stage's own account of its budget."""
    if packed is None:
        return None
    facts = [
        most,
        f"{format_count(len(packed['chunks']), 'passage')} of {format_count(len(packed['sources']), 'document')}",
        f"diversity {format_percent(packed['diversity_score'])}",
        f"{format_percent(packed['information_gain'])} of the value of all candidates",
    ]
    text = tag("details", tag("summary", "Show the context"), tag("pre", packed["formatted_context"], tabindex=0))
    return titled_card("Packed context", tag("div", [tag("span", one) for one in facts], class_="lab-facts"), text)
