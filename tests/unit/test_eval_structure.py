"""The scores of `make eval-structure` fall where a page is read wrongly, and its pages are the same each time."""

from tests.evals.eval_structure import order_errors, score_cells
from tests.evals.structure_columns import DEVELOPED, JUDGED, ColumnPage, column_pages
from tests.evals.structure_drawing import DrawnPage, register_faces
from tests.evals.structure_layout import TrueTable
from tests.evals.structure_tables import JUDGED as JUDGED_TABLES
from tests.evals.structure_tables import table_pages

TRUE = TrueTable([["", "2023", ""], ["Item", "Plan", "Actual"], ["Rent", "10", "12"]], ((0, 1, 2),))


def test_cells_count_only_in_their_place_and_a_spanning_head_over_any_of_its_columns() -> None:
    for head in ("| | 2023 | |", "| | | 2023 |"):
        score = score_cells(f"{head}\n| --- | --- | --- |\n| Item | Plan | Actual |\n| Rent | 10 | 12 |", [TRUE])
        assert (score.precision, score.recall) == (1.0, 1.0)
    shifted = score_cells("| 2023 | | |\n| --- | --- | --- |\n| Plan | Item | Actual |\n| Rent | 10 | 13 |", [TRUE])
    assert (shifted.precision, shifted.recall) == (3 / 7, 3 / 7)
    assert score_cells("Item Plan Actual", [TRUE]).recall == 0.0
    extra = score_cells(
        "| | 2023 |\n| --- | --- |\n| Item | Plan |\n\nwords\n\n| a | b |\n| --- | --- |\n| c | d |", [TRUE]
    )
    assert extra.precision < 0.5


def test_a_sidebar_may_stand_between_blocks_and_columns_may_not_be_swapped() -> None:
    blocks = (("headline", "One"), ("column", "two three"), ("column", "four five"), ("sidebar", "aside"))
    page = ColumnPage("a", DrawnPage(), blocks)
    assert order_errors("# One\n\ntwo three\naside\nfour five", page) == 0.0
    assert order_errors("One four five two three aside", page) > 0.3


def test_pages_are_the_same_each_time_and_the_judged_ones_are_of_other_kinds() -> None:
    register_faces()
    first, again = (column_pages(5, JUDGED, 3) for _ in range(2))
    assert [page.page.texts for page in first] == [page.page.texts for page in again]
    assert not set(JUDGED) & set(DEVELOPED)
    pages = table_pages(5, JUDGED_TABLES, 4, ("all",), True)
    assert [len(page.tables) for page in pages][:3] == [1, 1, 1] and pages[0].page.rules
