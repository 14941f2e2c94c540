"""Views of the search stages: where results came from, timings, what was left out, and the packed context."""

from collections.abc import Mapping
from typing import Any, Final

from serve_apps.ui.kit.blocks import Colour, badge, card
from serve_apps.ui.kit.formats import many, number, percent, span
from serve_apps.ui.kit.html import Html, join, tag

# Parts of the time in the order in which they happen; `total` is the whole.
PARTS: Final = ("resolve", "cache", "enhance", "keyword", "vector", "fuse", "filter", "rerank", "load", "pack")
OUTCOMES: Final[Mapping[str, Colour]] = {"hit": "green", "miss": "blue", "bypass": "grey"}
OF_STAGE: Final = {"fuse": "fused", "rerank": "rerank"}


def took_part(found: Mapping[str, Any]) -> set[str]:
    """The stages of the chart that were on."""
    on = {OF_STAGE.get(stage["name"], stage["name"]) for stage in found["explain"]["stages"] if stage["on"]}
    scored = {name for one in found["explain"]["candidates"] for name in one["scores"]}
    return on | ({"fused"} if "fused" in scored else set())


def summary(found: Mapping[str, Any], generations: str | None) -> Html:
    """The cache's decision, what there was to choose from, the index, and what was left out."""
    explain = found["explain"]
    index = f"generation {found['generation']}" if found["generation"] is not None else "no index yet"
    where = tag("a", index, href=generations) if generations else tag("span", index)
    told = [
        _cache(explain["cache"]),
        tag("span", tag("b", number(found["total_results"])), " passages found"),
        tag("span", "Index: ", where),
        tag("span", f"Words by {found['keyword_engine']}, meaning by {found['vector']}"),
    ]
    if explain["min_similarity"] is not None:
        told.append(tag("span", f"Least similarity {explain['min_similarity']:g}"))
    fallback = (
        tag("p", badge("fallback", "amber"), " ", found["fallback"], class_="lab-fallback")
        if found["fallback"]
        else None
    )
    return join(tag("div", told, class_="lab-facts"), fallback, timings(found["timings_ms"]), strip(explain))


def _cache(decision: Mapping[str, Any] | None) -> Html:
    if decision is None:
        return tag("span", badge("no cache", "grey"))
    near = decision["similarity"]
    told = [decision["reason"]]
    if near is not None and decision["question"]:
        told.append(f"nearest, {near:.3f}: “{decision['question']}”")
    if decision["age_seconds"] is not None:
        told.append(f"worked out {span(decision['age_seconds'])} ago")
    if decision["shared"]:
        told.append("shared with somebody who asked the same")
    return tag(
        "span", badge(f"cache {decision['outcome']}", OUTCOMES.get(decision["outcome"], "grey")), " ", "; ".join(told)
    )


def timings(spent: Mapping[str, float]) -> Html:
    """A bar of what took how long, and the same in words."""
    parts = [(name, spent[name]) for name in PARTS if spent.get(name, 0) > 0]
    parts += [(name, ms) for name, ms in spent.items() if name not in (*PARTS, "total") and ms > 0]
    total = max(spent.get("total", 0.0), 0.001)
    # The legs run side by side, so their times may add up to more than the whole.
    whole = max(sum(ms for _, ms in parts), total)
    pieces = [
        tag(
            "span",
            style=f"width:{ms / whole * 100:.2f}%",
            class_=f"piece time-{_shade(name)}",
            title=f"{name}: {_ms(ms)}",
        )
        for name, ms in parts
    ]
    legend = [
        tag("li", tag("i", class_=f"time-{_shade(name)}"), f"{name} {_ms(ms)}")
        for name, ms in parts
        if ms / whole > 0.01
    ]
    said = ", ".join(f"{name} {_ms(ms)}" for name, ms in parts)
    bar = tag("div", pieces, class_="lab-bar", role="img", aria_label=f"{_ms(total)} in all: {said}")
    return tag("div", tag("b", _ms(total)), bar, tag("ul", legend), class_="lab-times")


def _shade(name: str) -> str:
    return name if name in PARTS else "other"


def _ms(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 10 else span(ms / 1000)


def strip(explain: Mapping[str, Any]) -> Html:
    """The stages one after another: on or off, with what, and how many passages were left."""
    stages = [
        tag(
            "li",
            tag("b", stage["name"].replace("_", " ")),
            tag("span", "off" if not stage["on"] else f"{stage['kept']} left" if stage["kept"] is not None else ""),
            tag("small", stage["detail"].removeprefix("off: "), title=stage["detail"]),
            class_=None if stage["on"] else "off",
        )
        for stage in explain["stages"]
    ]
    said = None
    if explain["variations"]:
        listed = [tag("li", one) for one in explain["variations"]]
        said = tag("div", tag("b", "Also searched for, as a model put it"), tag("ul", listed), class_="lab-variations")
    return join(tag("ol", stages, class_="lab-stages", aria_label="Stages"), said)


def context(packed: Mapping[str, Any] | None, most: str) -> Html | None:
    """The packed context; `most` is the stage's own account of its budget."""
    if packed is None:
        return None
    facts = [
        tag("span", most),
        tag("span", f"{many(len(packed['chunks']), 'passage')} of {many(len(packed['sources']), 'document')}"),
        tag("span", f"diversity {percent(packed['diversity_score'])}"),
        tag("span", f"{percent(packed['information_gain'])} of the value of all candidates"),
    ]
    text = tag("details", tag("summary", "Show the context"), tag("pre", packed["formatted_context"], tabindex=0))
    return card("Packed context", tag("div", facts, class_="lab-facts"), text)
