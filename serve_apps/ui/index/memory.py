"""Semantic cache statistics (hits, misses, refusals), and the language of the stemmer."""

from serve_apps.ui.kit.blocks import data_table, empty_state, key_figure, key_figures, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag


def cache_view(stats: Record) -> SafeHtml:
    """Hits, misses, and near questions that were refused, with why."""
    asked = stats["hits"] + stats["misses"]
    of_all = f"{format_number(stats['hits'])} of {format_count(asked, 'question')}"
    places = f"in {format_count(stats['places'], 'set')} of conditions"
    row = key_figures(
        key_figure("Answered from memory", format_percent(stats["hit_rate"]), None, of_all),
        key_figure("Misses", format_number(stats["misses"]), None, "worked out"),
        key_figure("Near misses refused", format_number(stats["refused"]), None, "alike, but another question"),
        key_figure("Passed by", format_number(stats["bypasses"]), None, "not asked, or away"),
        key_figure("Shared", format_number(stats["shared"]), None, "asked at the same moment"),
        key_figure("Remembered", format_number(stats["entries"]), None, places),
    )
    if not asked:
        todo = "Questions asked twice are answered from memory, as long as no document changed."
        return join_html(row, empty_state("Nothing was asked yet.", todo))
    threshold = stats["similarity_threshold"]
    said = (
        "A remembered question stands for the same words only"
        if threshold is None
        else f"A remembered question stands for another from a similarity of {threshold:g} on, if both ask the same: "
        f"at most {stats['risk'] * 100:g} % of those that look alike may not"
    )
    said += f"; entries are kept {format_duration(stats['ttl_seconds'])}, and forgotten when a document changes."
    count = format_count(stats["garbage"], "entry", "entries")
    garbage = quiet_text(f"{count} could not be read.") if stats["garbage"] else None
    return join_html(row, _hit_balance(stats), _refusal_table(stats), quiet_text(said), garbage)


def _hit_balance(stats: Record) -> SafeHtml:
    parts = [
        ("from memory", stats["hits"], "hit"),
        ("worked out", stats["misses"] - stats["refused"], "miss"),
        ("refused, worked out", stats["refused"], "refused"),
        ("passed by", stats["bypasses"], "bypass"),
    ]
    whole = sum(max(0, count) for _, count, _ in parts) or 1
    shown = [(name, count, kind) for name, count, kind in parts if count > 0]
    pieces = [tag("span", style=f"width:{n / whole * 100:.1f}%", class_=f"piece cache-{kind}") for _, n, kind in shown]
    legend = [tag("li", tag("i", class_=f"cache-{kind}"), f"{name} {format_number(n)}") for name, n, kind in shown]
    said = ", ".join(f"{name} {count}" for name, count, _ in parts)
    bar = tag("div", pieces, class_="lab-bar", role="img", aria_label=said)
    return tag("div", tag("span"), bar, tag("ul", legend), class_="lab-times")


def _refusal_table(stats: Record) -> SafeHtml | None:
    found = sorted(stats.get("refusals", {}).items(), key=lambda pair: -pair[1])
    if not found:
        return None
    rows = [(why, format_number(count)) for why, count in found]
    shown = data_table(("What parts them", "How often"), rows, numbers=(1,))
    return titled_card("Why near questions were refused", shown)


def language_view(body: Record) -> SafeHtml:
    """Stemming language in use now, and the effect of a change."""
    cut = body["chunks"]
    said = "" if cut is None else f" The words of {format_count(cut, 'passage')} were cut anew."
    done = tag("p", tag("b", "Changed."), said, class_="lab-done", role="status") if said else None
    name = str(body["language"]).title()
    said = f"Words are compared without {name} endings, so that plural and singular find each other."
    plain = "No endings are cut: only the same words are found."
    own = "Words are compared without the endings of the language that each passage is in, as it is detected."
    return join_html(done, quiet_text({"simple": plain, "auto": own}.get(body["language"], said)))
