"""A run's steps as a waterfall: when each began, how long it took, what it cost, and what was asked and answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from serve_apps.ui.kit.blocks import empty_state, state_badge
from serve_apps.ui.kit.formats import format_duration, format_number
from serve_apps.ui.kit.html import Record, SafeHtml, quiet_text, tag
from serve_apps.ui.kit.value_tables import value_view

WIDE: Final = 1000
LEAST: Final = 6.0  # a bar that is to be seen
PERSON: Final = "approval"
KINDS: Final = {"model": "model", "tool": "tool", "retrieval": "search", PERSON: "person"}
LEGEND: Final = {"model": "language model", "tool": "tool", "search": "search", "person": "a person", "other": "other"}


@dataclass(frozen=True, slots=True)
class StepBar:
    """A step on the run's own clock, in seconds from its beginning."""

    start: float
    seconds: float
    kind: str


def place_bars(steps: Sequence[Record], began: str | None) -> tuple[list[StepBar], float]:
    """Every step's bar, and how long all of it took.

    A step is written down at its end, one under way at its begin; a person was asked when the step before had ended.
    """
    ends = [_epoch_seconds(step["at"]) for step in steps]
    starts = [end - step["ms"] / 1000 for end, step in zip(ends, steps, strict=True)]
    for n, step in enumerate(steps):
        if step["kind"] == PERSON and n:
            starts[n] = min(ends[n], ends[n - 1])
    zero = min([*starts, *([_epoch_seconds(began)] if began else [])], default=0.0)
    bars = [
        StepBar(max(0.0, start - zero), end - start, KINDS.get(step["kind"], "other"))
        for start, end, step in zip(starts, ends, steps, strict=True)
    ]
    return bars, max([bar.start + bar.seconds for bar in bars], default=0.0)


def waterfall_chart(steps: Sequence[Record], began: str | None) -> SafeHtml:
    """A row for each step, which opens to what was asked and what came back."""
    if not steps:
        why = "It ended before its first step, or has not begun."
        return empty_state("Nothing was asked of a model or a tool.", why)
    bars, total = place_bars(steps, began)
    rows = [_step_row(step, bar, total or 1.0) for step, bar in zip(steps, bars, strict=True)]
    used = dict.fromkeys(bar.kind for bar in bars)
    legend = [tag("span", tag("i", class_=f"fill {kind}"), LEGEND[kind]) for kind in used]
    scale = tag("div", [tag("span", at) for at in ("0", *map(format_duration, (total / 2, total)))], class_="scale")
    return tag("div", tag("p", legend, class_="legend quiet"), scale, rows, class_="aos-waterfall")


def _step_row(step: Record, bar: StepBar, total: float) -> SafeHtml:
    wide = max(LEAST, bar.seconds / total * WIDE)
    left = min(bar.start / total * WIDE, WIDE - wide)
    took = format_duration(bar.seconds) if step["state"] != "started" else "not ended"
    said = f"{step['name']}: begins after {format_duration(bar.start)}, takes {took}"
    box = tag("rect", x=round(left, 1), y=4, width=round(wide, 1), height=12, rx=2, class_=f"fill {bar.kind}")
    shape = {"viewBox": f"0 0 {WIDE} 20", "preserveAspectRatio": "none"}
    drawn = tag("svg", tag("title", said), box, **shape, role="img", aria_label=said)
    state = state_badge(step["state"]) if step["state"] != "done" else None
    name = tag("span", tag("b", step["seq"]), step["name"].replace("_", " "), state, class_="name")
    used = tag("span", _usage_text(step), class_="used quiet")
    head = tag("summary", name, drawn, tag("span", took, class_="took"), used)
    return tag("details", head, tag("div", _step_details(step), class_="inside"), class_="step")


def _usage_text(step: Record) -> str:
    read, wrote = step["prompt_tokens"], step["completion_tokens"]
    parts = [f"{format_number(read)} + {format_number(wrote)} tokens"] if read + wrote else []
    return ", ".join(parts + ([f"{step['cost_usd']:.4f} USD"] if step["cost_usd"] else []))


def _step_details(step: Record) -> list[SafeHtml]:
    asked, answered = step.get("request"), step.get("reply")
    if asked is None and answered is None:
        return [quiet_text("What was said in this step is for whose turn it is, and for administrators.")]
    return [tag("h4", "Asked"), value_view(asked), tag("h4", "Answered"), value_view(answered)]


def _epoch_seconds(at: str) -> float:
    return datetime.fromisoformat(at).timestamp()
