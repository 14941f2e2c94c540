"""Semantic cache statistics (hits, misses, refusals), and the language of the stemmer."""

from collections.abc import Mapping
from typing import Any

from serve_apps.ui.kit.blocks import card, empty, figure, figures, table
from serve_apps.ui.kit.formats import many, number, percent, span
from serve_apps.ui.kit.html import Html, join, tag


def cache_view(stats: Mapping[str, Any]) -> Html:
    """Hits, misses, and near questions that were refused, with why."""
    asked = stats["hits"] + stats["misses"]
    of_all = f"{number(stats['hits'])} of {many(asked, 'question')}"
    row = figures(
        figure("Answered from memory", percent(stats["hit_rate"]), None, of_all),
        figure("Misses", number(stats["misses"]), None, "worked out"),
        figure("Near misses refused", number(stats["refused"]), None, "alike, but another question"),
        figure("Passed by", number(stats["bypasses"]), None, "not asked, or away"),
        figure("Shared", number(stats["shared"]), None, "asked at the same moment"),
        figure("Remembered", number(stats["entries"]), None, f"in {many(stats['places'], 'set')} of conditions"),
    )
    if not asked:
        return join(
            row,
            empty(
                "Nothing was asked yet.",
                "Questions asked twice are answered from memory, as long as no document changed.",
            ),
        )
    said = (
        f"A remembered question stands for another from a similarity of {stats['similarity_threshold']:g} on, if both "
        f"ask the same; entries are kept {span(stats['ttl_seconds'])}, and forgotten when a document changes."
    )
    garbage = (
        tag("p", f"{many(stats['garbage'], 'entry', 'entries')} could not be read.", class_="quiet")
        if stats["garbage"]
        else None
    )
    return join(row, _balance(stats), _refusals(stats), tag("p", said, class_="quiet"), garbage)


def _balance(stats: Mapping[str, Any]) -> Html:
    """Hits, misses and what passed the cache by, as one bar."""
    parts = [
        ("from memory", stats["hits"], "hit"),
        ("worked out", stats["misses"] - stats["refused"], "miss"),
        ("refused, worked out", stats["refused"], "refused"),
        ("passed by", stats["bypasses"], "bypass"),
    ]
    whole = sum(max(0, count) for _, count, _ in parts) or 1
    pieces = [
        tag("span", style=f"width:{count / whole * 100:.1f}%", class_=f"piece cache-{kind}")
        for _, count, kind in parts
        if count > 0
    ]
    legend = [
        tag("li", tag("i", class_=f"cache-{kind}"), f"{name} {number(count)}")
        for name, count, kind in parts
        if count > 0
    ]
    said = ", ".join(f"{name} {count}" for name, count, _ in parts)
    return tag(
        "div",
        tag("span"),
        tag("div", pieces, class_="lab-bar", role="img", aria_label=said),
        tag("ul", legend),
        class_="lab-times",
    )


def _refusals(stats: Mapping[str, Any]) -> Html | None:
    found = sorted(stats.get("refusals", {}).items(), key=lambda pair: -pair[1])
    if not found:
        return None
    return card(
        "Why near questions were refused",
        table(("What parts them", "How often"), [(why, number(count)) for why, count in found], numbers=(1,)),
    )


def language_view(body: Mapping[str, Any]) -> Html:
    """Stemming language in use now, and the effect of a change."""
    cut = body["chunks"]
    done = (
        tag(
            "p",
            tag("b", "Changed."),
            f" The words of {many(cut, 'passage')} were cut anew.",
            class_="lab-done",
            role="status",
        )
        if cut is not None
        else None
    )
    plain, name = body["language"] == "simple", str(body["language"]).title()
    said = (
        "No endings are cut: only the same words are found."
        if plain
        else f"Words are compared without {name} endings, so that plural and singular find each other."
    )
    return join(done, tag("p", said, class_="quiet"))
