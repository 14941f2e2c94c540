"""Runs of a golden set over time: small line charts, a table, and two runs question by question."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.blocks import data_table, empty_state, link_to, progress_bar, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration, format_moment, format_number
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, quiet_text, tag

Run = Record
Told = Callable[[float | None], str]  # a figure in words
Address = Callable[[str, str | None], str | None]  # of a run, compared with a baseline or not

HIGH: Final = 84  # pixels of a chart
EDGE: Final = 10
NAMES: Final[Mapping[str, str]] = {
    "ndcg@10": "nDCG@10",
    "recall@10": "Recall@10",
    "recall@5": "Recall@5",
    "recall@1": "Recall@1",
    "mrr": "MRR",
    "passage_recall@10": "Passage recall@10",
    "answer_f1": "Answer F1",
    "answer_contained": "Answer contained",
    "answered_when_answerable": "Answered where it should",
    "abstained_when_unanswerable": "Abstained where it should",
    "citations_valid": "Citations valid",
    "cited_expected": "Cites what was expected",
}


def trend_charts(runs: Sequence[Run], address: Address) -> SafeHtml:
    """Quality and speed of the runs that ended, oldest on the left; `runs` come latest first."""
    ended = [run for run in reversed(runs) if run["figures"]]
    if not ended:
        return SafeHtml("")
    shares = (("nDCG@10", "ndcg@10"), ("Recall@10", "recall@10"))
    times = (("Search p50", "search_ms"), ("Answer p50", "answer_ms"))
    charts = [_trend_chart(title, ended, (name, "mean"), address, _share_text, 1.0) for title, name in shares]
    charts += [_trend_chart(title, ended, (name, "p50"), address, _duration_text, None) for title, name in times]
    return tag("div", charts, class_="aos-columns lab-trends")


def _trend_chart(
    title: str, runs: Sequence[Run], figure: tuple[str, str], address: Address, told: Told, most: float | None
) -> SafeHtml | None:
    """A line through a figure of each run; every point leads to its run."""
    points = [(run, found) for run in runs if (found := _figure_value(run, *figure)) is not None]
    if not points:
        return None
    top = most or max(found for _, found in points) * 1.15 or 1.0
    step = 100 / max(1, len(points))

    def x(n: int) -> str:
        return f"{(n + 0.5) * step:.2f}%"

    def y(found: float) -> float:
        return round(HIGH - EDGE - found / top * (HIGH - 2 * EDGE), 1)

    lines = [
        tag("line", x1=x(n), y1=y(left), x2=x(n + 1), y2=y(right))
        for n, ((_, left), (_, right)) in enumerate(itertools.pairwise(points))
    ]
    dots = []
    for n, (run, found) in enumerate(points):
        inside = tag("title", f"{title} {told(found)}"), tag("circle", cx=x(n), cy=y(found), r=5)
        dots.append(tag("a", inside, href=address(str(run["id"]), None), aria_label=f"Run {n + 1}: {told(found)}"))
    zero = tag("line", x1=0, x2="100%", y1=HIGH - EDGE, y2=HIGH - EDGE, class_="zero")
    svg = tag("svg", zero, lines, dots, width="100%", height=HIGH, class_="lab-line", role="group", aria_label=title)
    change = points[-1][1] - points[-2][1] if len(points) > 1 else None
    about = told(points[-1][1]) + (f" ({'+' if change > 0 else '−'}{told(abs(change))})" if change else "")
    return titled_card(title, svg, aside=tag("b", about))


def runs_table(runs: Sequence[Run], total: int, address: Address) -> SafeHtml:
    """The runs with their figures; each can be compared with the one before it."""
    if not runs:
        todo = "Run the evaluation: every question is put to the search, and the figures are kept."
        return empty_state("This set has not been run yet.", todo)
    rows = []
    for n, run in enumerate(runs):
        before = next((str(one["id"]) for one in runs[n + 1 :] if one["figures"]), None)
        state = state_badge("running", "blue") if run["state"] == "running" else state_badge(run["state"])
        done = progress_bar(run["done"], run["total"]) if not run["finished_at"] else format_number(run["total"])
        when = link_to(format_moment(run["created_at"]), address(str(run["id"]), None))
        shares = (_share_text(_figure_value(run, name, "mean")) for name in ("ndcg@10", "recall@10"))
        took = _duration_text(_figure_value(run, "search_ms", "p50"))
        compare = None
        if before is not None and run["figures"]:
            compare = link_to("compare with the one before", address(str(run["id"]), before))
        rows.append((when, state, done, run["generation_id"] or "–", *shares, took, compare))
    names = ("When", "State", "Questions", "Generation", "nDCG@10", "Recall@10", "Search", "")
    more = quiet_text(f"The latest {len(runs)} of {total} runs.") if total > len(runs) else None
    return join_html(data_table(names, rows, numbers=(2, 3, 4, 5, 6)), more)


def results_view(run: Run, items: Sequence[Record]) -> SafeHtml:
    """One run: every question, what it found, and what it did not."""
    failures = [tag("li", f"{one['what']} ({format_count(one['questions'], 'question')})") for one in run["failures"]]
    told = tag("div", tag("strong", "Parts did not run"), tag("ul", failures), class_="lab-fallback")
    missing = told if failures else None
    rows = []
    for one in items:
        measured, names = one["measured"], one["retrieved"]
        shares = (_share_meter(measured.get(name)) for name in ("ndcg@10", "recall@10"))
        found = tag("span", ", ".join(names[:3]) or "nothing", title=", ".join(names))
        took = _duration_text(measured.get("search_ms"))
        rows.append((one["question"], *shares, took, found, _answer_cell(one)))
    columns = ("Question", "nDCG@10", "Recall@10", "Search", "Found first", "Answer")
    shown = data_table(columns, rows, numbers=(3,))
    return titled_card(("Run of ", format_moment(run["created_at"])), missing, shown, aside=state_badge(run["state"]))


def _answer_cell(one: Record) -> SafeHtml:
    if one["failures"]:
        return tag("span", state_badge("did not run", "red"), " ", "; ".join(one["failures"]))
    if one["mode"] is None:
        return quiet_span("not asked for")
    measured = one["measured"]
    right = measured.get("abstained_when_unanswerable", measured.get("answered_when_answerable"))
    said = "abstained" if one["mode"] == "not_found" else "answered"
    text = tag("small", f" {(one['answer'] or '')[:90]}", class_="quiet")
    return tag("span", state_badge(said, "green" if right else "red"), text)


def _share_meter(value: float | None) -> SafeHtml:
    if value is None:
        return quiet_span("–")
    fill = tag("i", style=f"width:{max(0.0, min(1.0, value)) * 100:.0f}%")
    return tag("span", tag("span", fill, class_="lab-track"), f"{value:.2f}", class_="lab-meter")


def comparison_view(found: Record) -> SafeHtml:
    """Two runs: what became better or worse, and on which questions."""
    now, before = (format_moment(found[run]["created_at"]) for run in ("candidate", "baseline"))
    head = quiet_text("Run of ", now, " against that of ", before, ".")
    changed = found["settings_changed"]
    settings = tag("p", "Settings that differ: ", tag("b", ", ".join(changed) if changed else "none"))
    rows = [
        (
            NAMES.get(one["measure"], one["measure"]),
            f"{one['baseline']:.3f}",
            f"{one['candidate']:.3f}",
            _delta_value(one["delta"]),
            f"{one['low']:+.3f} … {one['high']:+.3f}",
            f"{one['better']} better, {one['worse']} worse, {one['equal']} equal",
            _chance_badge(one),
        )
        for one in found["differences"]
    ]
    names = ("Measure", "Before", "Now", "Change", "95 % interval", "Questions", "")
    whole = data_table(names, rows, numbers=(1, 2, 3, 4))
    return titled_card("Comparison", head, settings, whole, _changed_questions(found))


def _chance_badge(one: Record) -> SafeHtml:
    if not one["better"] and not one["worse"]:
        return state_badge("the same", "grey")
    if one["low"] > 0 or one["high"] < 0:
        return state_badge("better" if one["delta"] > 0 else "worse", "green" if one["delta"] > 0 else "red")
    return state_badge("may be chance", "grey")


def _changed_questions(found: Record) -> SafeHtml:
    name = NAMES.get(found["measure"], found["measure"])
    if not found["changed"]:
        return quiet_text(f"No question differs in {name}.")
    rows = []
    for one in found["changed"]:
        before, now = one["baseline"], one["candidate"]
        rows.append((one["question"], dumbbell_chart(before, now), _delta_value(now - before)))
    columns = ("Question", f"{name} before and now", "Change")
    return data_table(columns, rows, caption="Question by question, largest loss first", numbers=(2,))


def dumbbell_chart(before: float, now: float) -> SafeHtml:
    """Two shares on one line: a ring before, a dot now."""
    left, right = sorted((before, now))
    bar = tag("i", style=f"left:{left * 100:.1f}%;width:{(right - left) * 100:.1f}%")
    ring = tag("b", style=f"left:{before * 100:.1f}%", class_="before")
    dot = tag("b", style=f"left:{now * 100:.1f}%", class_="now")
    said, kind = f"from {before:.2f} to {now:.2f}", "better" if now > before else "worse"
    return tag("span", bar, ring, dot, class_=f"lab-dumbbell {kind}", role="img", aria_label=said)


def _delta_value(value: float) -> SafeHtml:
    return tag("span", f"{value:+.3f}", class_=f"value {'green' if value > 0 else 'red' if value < 0 else ''}".strip())


def _figure_value(run: Run, measure: str, kind: str) -> float | None:
    found = run["figures"].get(measure)
    return None if found is None else float(found[kind])


def _share_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _duration_text(ms: float | None) -> str:
    return "–" if ms is None else format_duration(ms / 1000)
