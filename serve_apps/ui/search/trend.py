"""Runs of a golden set over time: small line charts, a table, and two runs question by question."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.blocks import badge, card, empty, link, progress, table
from serve_apps.ui.kit.formats import many, moment, number, span
from serve_apps.ui.kit.html import Html, join, tag

Run = Mapping[str, Any]
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


def trends(runs: Sequence[Run], address: Address) -> Html:
    """Quality and speed of the runs that ended, oldest on the left; `runs` come latest first."""
    ended = [run for run in reversed(runs) if run["figures"]]
    if not ended:
        return Html("")
    charts = [
        chart("nDCG@10", ended, lambda run: _figure(run, "ndcg@10", "mean"), address, _share, 1.0),
        chart("Recall@10", ended, lambda run: _figure(run, "recall@10", "mean"), address, _share, 1.0),
        chart("Search p50", ended, lambda run: _figure(run, "search_ms", "p50"), address, _time, None),
        chart("Answer p50", ended, lambda run: _figure(run, "answer_ms", "p50"), address, _time, None),
    ]
    return tag("div", [one for one in charts if one is not None], class_="aos-columns lab-trends")


def chart(
    title: str,
    runs: Sequence[Run],
    value: Callable[[Run], float | None],
    address: Address,
    told: Callable[[float | None], str],
    most: float | None,
) -> Html | None:
    """A line through what `value` says of each run; every point leads to its run."""
    points = [(run, found) for run in runs if (found := value(run)) is not None]
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
    dots = [
        tag(
            "a",
            tag("title", f"{title} {told(found)}"),
            tag("circle", cx=x(n), cy=y(found), r=5),
            href=address(str(run["id"]), None),
            aria_label=f"Run {n + 1}: {told(found)}",
        )
        for n, (run, found) in enumerate(points)
    ]
    zero = tag("line", x1=0, x2="100%", y1=HIGH - EDGE, y2=HIGH - EDGE, class_="zero")
    svg = tag("svg", zero, lines, dots, width="100%", height=HIGH, class_="lab-line", role="group", aria_label=title)
    change = points[-1][1] - points[-2][1] if len(points) > 1 else None
    about = f"{told(points[-1][1])}" + (f" ({_signed(change, told)})" if change else "")
    return card(title, svg, aside=tag("b", about))


def runs_table(runs: Sequence[Run], total: int, address: Address) -> Html:
    """The runs with their figures; each can be compared with the one before it."""
    if not runs:
        return empty(
            "This set has not been run yet.",
            "Run the evaluation: every question is put to the search, and the figures are kept.",
        )
    rows = []
    for n, run in enumerate(runs):
        before = next((str(one["id"]) for one in runs[n + 1 :] if one["figures"]), None)
        state = badge("running", "blue") if run["state"] == "running" else badge(run["state"])
        done = progress(run["done"], run["total"]) if not run["finished_at"] else number(run["total"])
        rows.append(
            (
                link(moment(run["created_at"]), address(str(run["id"]), None)),
                state,
                done,
                run["generation_id"] or "–",
                _share(_figure(run, "ndcg@10", "mean")),
                _share(_figure(run, "recall@10", "mean")),
                _time(_figure(run, "search_ms", "p50")),
                _compare(run, before, address),
            )
        )
    names = ("When", "State", "Questions", "Generation", "nDCG@10", "Recall@10", "Search", "")
    more = tag("p", f"The latest {len(runs)} of {total} runs.", class_="quiet") if total > len(runs) else None
    return join(table(names, rows, numbers=(2, 3, 4, 5, 6)), more)


def _compare(run: Run, before: str | None, address: Address) -> Html | None:
    if before is None or not run["figures"]:
        return None
    return link("compare with the one before", address(str(run["id"]), before))


def results_view(run: Run, items: Sequence[Mapping[str, Any]]) -> Html:
    """One run: every question, what it found, and what it did not."""
    failures = [tag("li", f"{one['what']} ({many(one['questions'], 'question')})") for one in run["failures"]]
    missing = (
        tag("div", tag("strong", "Parts did not run"), tag("ul", failures), class_="lab-fallback") if failures else None
    )
    rows = [
        (
            one["question"],
            meter(one["measured"].get("ndcg@10")),
            meter(one["measured"].get("recall@10")),
            _time(one["measured"].get("search_ms")),
            _documents(one["retrieved"]),
            _answered(one),
        )
        for one in items
    ]
    names = ("Question", "nDCG@10", "Recall@10", "Search", "Found first", "Answer")
    return card(
        ("Run of ", moment(run["created_at"])), missing, table(names, rows, numbers=(3,)), aside=badge(run["state"])
    )


def _documents(found: Sequence[str]) -> Html:
    return tag("span", ", ".join(found[:3]) or "nothing", title=", ".join(found))


def _answered(one: Mapping[str, Any]) -> Html:
    if one["failures"]:
        return tag("span", badge("did not run", "red"), " ", "; ".join(one["failures"]))
    if one["mode"] is None:
        return tag("span", "not asked for", class_="quiet")
    measured = one["measured"]
    right = measured.get("abstained_when_unanswerable", measured.get("answered_when_answerable"))
    said = "abstained" if one["mode"] == "not_found" else "answered"
    return tag(
        "span", badge(said, "green" if right else "red"), tag("small", f" {(one['answer'] or '')[:90]}", class_="quiet")
    )


def meter(value: float | None) -> Html:
    """A share from 0 to 1 as a bar with its number."""
    if value is None:
        return tag("span", "–", class_="quiet")
    fill = tag("i", style=f"width:{max(0.0, min(1.0, value)) * 100:.0f}%")
    return tag("span", tag("span", fill, class_="lab-track"), f"{value:.2f}", class_="lab-meter")


def comparison(found: Mapping[str, Any]) -> Html:
    """Two runs: what became better or worse, and on which questions."""
    head = tag(
        "p",
        "Run of ",
        moment(found["candidate"]["created_at"]),
        " against that of ",
        moment(found["baseline"]["created_at"]),
        ".",
        class_="quiet",
    )
    changed = found["settings_changed"]
    settings = tag("p", "Settings that differ: ", tag("b", ", ".join(changed) if changed else "none"))
    rows = [
        (
            NAMES.get(one["measure"], one["measure"]),
            f"{one['baseline']:.3f}",
            f"{one['candidate']:.3f}",
            _delta(one["delta"]),
            f"{one['low']:+.3f} … {one['high']:+.3f}",
            f"{one['better']} better, {one['worse']} worse, {one['equal']} equal",
            _chance(one),
        )
        for one in found["differences"]
    ]
    names = ("Measure", "Before", "Now", "Change", "95 % interval", "Questions", "")
    whole = table(names, rows, numbers=(1, 2, 3, 4))
    return card("Comparison", head, settings, whole, _changed(found))


def _chance(one: Mapping[str, Any]) -> Html:
    if not one["better"] and not one["worse"]:
        return badge("the same", "grey")
    if one["low"] > 0 or one["high"] < 0:
        return badge("better" if one["delta"] > 0 else "worse", "green" if one["delta"] > 0 else "red")
    return badge("may be chance", "grey")


def _changed(found: Mapping[str, Any]) -> Html:
    name = NAMES.get(found["measure"], found["measure"])
    if not found["changed"]:
        return tag("p", f"No question differs in {name}.", class_="quiet")
    rows = [
        (one["question"], dumbbell(one["baseline"], one["candidate"]), _delta(one["candidate"] - one["baseline"]))
        for one in found["changed"]
    ]
    return table(
        ("Question", f"{name} before and now", "Change"),
        rows,
        caption="Question by question, largest loss first",
        numbers=(2,),
    )


def dumbbell(before: float, now: float) -> Html:
    """Two shares on one line: a ring before, a dot now."""
    left, right = sorted((before, now))
    bar = tag("i", style=f"left:{left * 100:.1f}%;width:{(right - left) * 100:.1f}%")
    ring, dot = (
        tag("b", style=f"left:{value * 100:.1f}%", class_=kind) for value, kind in ((before, "before"), (now, "now"))
    )
    kind = "better" if now > before else "worse"
    return tag(
        "span", bar, ring, dot, class_=f"lab-dumbbell {kind}", role="img", aria_label=f"from {before:.2f} to {now:.2f}"
    )


def _delta(value: float) -> Html:
    return tag("span", f"{value:+.3f}", class_=f"value {'green' if value > 0 else 'red' if value < 0 else ''}".strip())


def _figure(run: Run, measure: str, kind: str) -> float | None:
    found = run["figures"].get(measure)
    return None if found is None else float(found[kind])


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _time(ms: float | None) -> str:
    return "–" if ms is None else span(ms / 1000)


def _signed(change: float, told: Callable[[float | None], str]) -> str:
    return ("+" if change > 0 else "−") + told(abs(change))
