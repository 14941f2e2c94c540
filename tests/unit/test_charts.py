"""Charts: what is drawn as a line, what as bars, and what is no chart."""

import pytest

from serve_apps.retrieval.tables.chart import Chart, ChartColumn, ChartKind, chart_of, draw_svg

NAME = ChartColumn("Lorry", "text")
TOLL = ChartColumn("Toll", "number", "€")


def test_categories_are_bars_in_the_order_of_the_result() -> None:
    found = chart_of([NAME, TOLL], [["Oak", 310.5], ["Elm", 40], ["Ash", 90]])
    assert found == Chart(ChartKind.BAR, "Lorry", "Toll (€)", (("Oak", 310.5), ("Elm", 40.0), ("Ash", 90.0)))
    drawn = found.specification()
    assert drawn["$schema"].endswith("vega-lite/v5.json") and drawn["mark"] == {"type": "bar"}
    assert drawn["data"]["values"][0] == {"label": "Oak", "value": 310.5}
    assert drawn["encoding"]["y"]["sort"] is None and "scale" not in drawn["encoding"]["x"]


@pytest.mark.parametrize(
    ("column", "labels", "axis"),
    [
        (ChartColumn("Day", "date"), ["2024-03-02", "2024-01-05"], "temporal"),
        (ChartColumn("Year", "number"), [2024, 2023], "ordinal"),
        (ChartColumn("Quarter", "text"), ["2024 Q2", "2024 Q1"], "ordinal"),
        (ChartColumn("Month", "text"), ["2024-10", "2024-09"], "ordinal"),
    ],
)
def test_time_is_a_line_from_the_first_to_the_last(column: ChartColumn, labels: list[object], axis: str) -> None:
    found = chart_of([column, TOLL], [[labels[0], 7], [labels[1], 9]])
    assert found is not None and found.kind is ChartKind.LINE
    assert [value for _, value in found.points] == [9.0, 7.0]
    assert found.specification()["encoding"]["x"]["type"] == axis


def test_own_columns_and_codes_are_neither_measure_nor_label() -> None:
    columns = [ChartColumn("row", "number"), ChartColumn("page", "number"), ChartColumn("Order no", "number")]
    found = chart_of([*columns, NAME, TOLL], [[0, 1, 501, "Oak", 7], [1, 1, 502, "Elm", 9]])
    assert found is not None and (found.label, found.measure) == ("Lorry", "Toll (€)")
    files = chart_of([ChartColumn("document", "text"), TOLL], [["may.md", 400], ["june.md", 100]])
    assert files is not None and files.label == "document"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ([NAME, TOLL], [["Oak", 1]]),
        ([NAME, TOLL], []),
        ([NAME, TOLL], [["Oak", 1], ["Oak", 2]]),
        ([NAME, TOLL], [["Oak", 1], [None, 2]]),
        ([NAME, TOLL], [["Oak", "12345678901234567890"], ["Elm", None]]),
        ([NAME, TOLL, ChartColumn("Tons", "number")], [["Oak", 1, 2], ["Elm", 3, 4]]),
        ([NAME], [["Oak"], ["Elm"]]),
        ([TOLL], [[1], [2]]),
        ([NAME, TOLL], [[f"Lorry {n}", n] for n in range(41)]),
        ([NAME, ChartColumn("Toll", "other")], [["Oak", [1]], ["Elm", [2]]]),
    ],
)
def test_what_is_no_chart(columns: list[ChartColumn], rows: list[list[object]]) -> None:
    assert chart_of(columns, rows) is None


def test_a_picture_is_drawn_without_a_network_and_markup_in_labels_is_text() -> None:
    found = chart_of([NAME, TOLL], [["<script>alert(1)</script>", 3], ["Elm", 4]])
    assert found is not None
    svg = draw_svg(found.specification())
    assert svg.startswith("<svg") and "Elm" in svg and "<script" not in svg
