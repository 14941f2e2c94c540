"""The gate's report as a picture: how much of what was expected the next index finds, and what fell."""

from collections.abc import Mapping
from typing import Final

from serve_apps.ui.kit.blocks import Colour, state_badge
from serve_apps.ui.kit.formats import format_count, format_duration, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, quiet_text, tag

VERDICTS: Final[Mapping[str, Colour]] = {"passed": "green", "refused": "red", "forced": "amber"}
Questions = Mapping[tuple[str, str], str]  # (set, key) to the question's text


def report_view(report: Record, questions: Questions) -> SafeHtml:
    """Every measure as a bar from nothing to all, with marks for what was demanded and what was before."""
    measured = [*([report["items"]] if report["items"] else []), *report["golden"]]
    documents = quiet_text(
        f"{report['held']} of {format_count(report['expected'], 'document')} of the live index with vectors; ",
        f"tried in {format_duration(report['ms'] / 1000)}.",
    )
    verdict = state_badge(report["verdict"], VERDICTS.get(report["verdict"], "grey"))
    reasons = [tag("li", one) for one in report["reasons"]]
    why = tag("ul", reasons, class_="index-reasons") if reasons else None
    none = quiet_text("Too few passages and no golden set: nothing was measured.")
    bars = [_recall_meter(one, report["at"], questions) for one in measured] or none
    alone = quiet_text(f"By itself: {report['alone']}.") if report.get("alone") else None
    return tag("div", tag("p", tag("b", "The gate "), verdict), why, documents, alone, bars, class_="index-report")


def _recall_meter(one: Record, at: int, questions: Questions) -> SafeHtml:
    golden = one["name"] != "known items"
    depth = 10 if golden else at
    asked = format_count(one["asked"], "question") if golden else f"{format_number(one['asked'])} of its own passages"
    title = f"Golden set “{one['name']}”" if golden else "Finds its own passages again"
    marks = [("demanded", one["least"], "least"), ("before", one["before"], "before")]
    if one["before"] is None:
        marks.append(("when the live index was built", one["baseline"], "before"))
    known = [(label, value, kind) for label, value, kind in marks if value is not None]
    low = any(one["recall"] < value - 1e-9 for _, value, _ in known)
    fill = tag("i", style=f"width:{_css_width(one['recall'])}", class_="fill low" if low else "fill")
    ticks = [
        tag("b", style=f"left:{_css_width(value)}", class_=kind, title=f"{label} {format_percent(value)}")
        for label, value, kind in known
    ]
    told = [f"{format_percent(one['recall'])} among the first {depth}", asked]
    told += [f"{label} {format_percent(value)}" for label, value, _ in known]
    if one["skipped"]:
        told.append(f"{one['skipped']} skipped, as their documents are not there")
    bar = tag("div", fill, ticks, class_="index-bar", role="img", aria_label=", ".join(told))
    lines = tag("small", " · ".join(told), class_="quiet")
    keys = one.get("fell") or []
    listed = [tag("li", questions.get((one["name"], key), f"question {key}")) for key in keys]
    title_ = tag("b", f"{format_count(len(keys), 'question')} fell")
    fallen = tag("div", title_, tag("ol", listed), class_="index-fell") if keys else None
    return tag("div", tag("div", tag("b", title)), bar, lines, fallen, class_="index-measure")


def _css_width(share: float) -> str:
    return f"{max(0.0, min(1.0, share)) * 100:.1f}%"
