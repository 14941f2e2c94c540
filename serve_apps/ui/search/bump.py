"""The bump chart: a column for each stage, a line for each passage, so that the eye can follow one of them."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.html import SafeHtml, quiet_text, tag
from serve_apps.ui.search.passage_view import STAGES, TITLES, RankedPassage

ROW: Final = 34  # pixels; the names beside the chart stand in rows of the same height
HEAD: Final = 28
HUES: Final = 8
COLUMN: Final = 100 / len(STAGES)
LAST: Final = len(STAGES) - 1

Stops = Mapping[str, tuple[int, int]]  # stage to (rank, row) of one passage


def bump_chart(passages: Sequence[RankedPassage], shown: int, on: Collection[str]) -> SafeHtml:
    """The chart with the names of its passages.

    Args:
        passages: the first `shown` in their final order, then those that fell behind.
        on: stages that took part; the last column always shows the final order.
    """
    if not passages:
        return quiet_text("No passage passed through the stages.")
    shown = min(shown, len(passages))
    ways = _passage_stops(passages, shown, on)
    rows = 1 + max(row for way in ways for _, row in way.values())
    band = None
    if rows > shown:
        band = tag("rect", x=0, y=HEAD + shown * ROW, width="100%", height=(rows - shown) * ROW, class_="behind")
    lines = [_passage_line(one, way, on) for one, way in zip(passages, ways, strict=True)]
    titles, height = [_column_title(stage, on) for stage in STAGES], HEAD + rows * ROW
    label = "How each passage moved through the stages"
    chart = tag("svg", band, titles, lines[::-1], height=height, width="100%", role="group", aria_label=label)
    names = []
    for one in passages:
        said = (tag("b", one.place, class_="lab-number"), tag("span", one.name))
        link = tag("a", said, href=f"#{passage_anchor(one)}", title=one.name)
        names.append(tag("li", link, class_=f"hue-{passage_hue(one)}"))
    return tag("div", chart, tag("ol", names), class_="lab-bump")


def passage_hue(one: RankedPassage) -> int:
    """Colour index of a passage, the same in the chart and in the list."""
    return (one.place - 1) % HUES


def passage_anchor(one: RankedPassage) -> str:
    """HTML id of the passage in the list below."""
    return f"passage-{one.place}"


def _passage_stops(passages: Sequence[RankedPassage], shown: int, on: Collection[str]) -> list[Stops]:
    """Rows are ranks as far as `shown`; what stands further behind is put together below, in its order."""
    ranks = [
        {stage: one.ranks[stage] for stage in STAGES[:LAST] if stage in on and stage in one.ranks}
        | {STAGES[LAST]: one.place}
        for one in passages
    ]
    behind = {stage: sorted(way[stage] for way in ranks if way.get(stage, 0) > shown) for stage in STAGES}
    return [
        {stage: (rank, rank - 1 if rank <= shown else shown + behind[stage].index(rank)) for stage, rank in way.items()}
        for way in ranks
    ]


def _column_title(stage: str, on: Collection[str]) -> SafeHtml:
    at, taken = f"{(STAGES.index(stage) + 0.5) * COLUMN:g}%", stage in on
    if taken or stage == STAGES[LAST]:
        return tag("text", TITLES[stage] if taken else "Result", x=at, y=16, text_anchor="middle", class_="title")
    off = {"x": at, "text_anchor": "middle", "class_": "title off"}
    return tag("g", tag("text", TITLES[stage], y=10, **off), tag("text", "off", y=23, **off))


def _passage_line(one: RankedPassage, way: Stops, on: Collection[str]) -> SafeHtml:
    """Dashed where a stage in between did not see it."""
    stops = [(STAGES.index(stage), row) for stage, (_, row) in way.items()]
    parts = []
    for (left, above), (right, below) in itertools.pairwise(stops):
        start, end = (_column_x(left), _row_y(above)), (_column_x(right), _row_y(below))
        class_ = "skips" if right - left > 1 else None
        parts.append(tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_))
    dots = [_rank_dot(stage, rank, row, one, on) for stage, (rank, row) in way.items()]
    ranks = [f"{TITLES[stage].lower()} {one.ranks[stage]}" for stage in STAGES if stage in one.ranks]
    told = f"{one.name}: " + ", ".join([*ranks, f"in the end {one.place}"])
    where, class_ = f"#{passage_anchor(one)}", f"way hue-{passage_hue(one)}"
    return tag("a", tag("title", told), parts, dots, href=where, class_=class_, aria_label=told)


def _rank_dot(stage: str, rank: int, row: int, one: RankedPassage, on: Collection[str]) -> SafeHtml:
    packing = stage == STAGES[LAST] and stage in on
    left_out = packing and stage not in one.ranks
    number = one.ranks.get(stage, "–") if packing else rank
    x, y = _column_x(STAGES.index(stage)), _row_y(row)
    round_ = tag("circle", cx=x, cy=y, r=11, class_="left-out" if left_out else None)
    return tag("g", round_, tag("text", number, x=x, y=y + 4, text_anchor="middle", class_="out" if left_out else None))


def _column_x(column: int) -> str:
    return f"{(column + 0.5) * COLUMN:g}%"


def _row_y(row: int) -> int:
    return HEAD + row * ROW + ROW // 2
