"""The facts of forms and tables."""

from pipelines.documents.document import Box, Page, Word
from pipelines.documents.facts.find_facts import find_facts, find_tables
from pipelines.documents.facts.page_fact import FactKind, PageFact
from pipelines.documents.facts.page_table import table_from_json, table_to_json

FORM = """## Boiler inspection

| Owner | | | |
| --- | --- | --- | --- |
| Name: | Ada Byron | Since: | 04/02/2011 |
| Address: | 7 Mill Lane, Ely | Phone: | |
| Pressure | 12 bar | Remarks: | Valve replaced, tested twice |
"""


def facts_of(text: str, words: tuple[Word, ...] = ()) -> list[tuple[str, str]]:
    return [(one.heading, one.value) for one in find_facts(text, words)]


def test_a_form_in_cells_is_its_labels_and_their_values() -> None:
    assert facts_of(FORM) == [
        ("Owner, Name", "Ada Byron"),
        ("Owner, Since", "04/02/2011"),
        ("Owner, Address", "7 Mill Lane, Ely"),
        # No colon, but it stands in the column of the labels.
        ("Owner, Pressure", "12 bar"),
        ("Owner, Remarks", "Valve replaced, tested twice"),
    ]


def test_a_fact_stands_where_its_label_and_value_stand() -> None:
    for one in find_facts(FORM):
        quote = FORM[one.start : one.end]
        assert quote.startswith(one.label) and quote.endswith(one.value)
        assert one.kind is FactKind.FIELD and one.sentence == f"{one.label}: {one.value}"


def test_a_table_is_its_cells_under_their_columns() -> None:
    text = "### Sales\n\n| Region | 2023 | 2024 |\n| --- | --- | --- |\n| North | 1,200 | 1,350 |\n| South | | 90 |\n"
    found = find_facts(text)
    assert [(one.section, one.label, one.column, one.value) for one in found] == [
        ("Sales", "North", "2023", "1,200"),
        ("Sales", "North", "2024", "1,350"),
        ("Sales", "South", "2024", "90"),
    ]
    assert found[1].sentence == "North, 2024: 1,350" and text[found[1].start : found[1].end] == "North | 1,200 | 1,350"


def test_a_row_of_one_cell_is_the_caption_of_those_under_it() -> None:
    text = "| Item | Price |\n| --- | --- |\n| Tools | |\n| Saw | 12 |\n| Paint | |\n| Red | 3 |\n"
    assert facts_of(text) == [("Tools, Saw, Price", "12"), ("Paint, Red, Price", "3")]


def test_a_first_column_of_numbers_names_nothing() -> None:
    text = "| No. | Part | Price |\n| --- | --- | --- |\n| 1 | Pump | 12 |\n"
    assert facts_of(text) == [("No.", "1"), ("Part", "Pump"), ("Price", "12")]


def test_an_escaped_bar_is_part_of_its_cell() -> None:
    assert facts_of("| Key | Value |\n| --- | --- |\n| a\\|b | 1 |\n") == [("a|b, Value", "1")]


def test_labelled_lines_are_fields() -> None:
    text = "Order 7\n\n**Delivery date:** 3 May 2024\n- Weight: 12 kg\nNotes: \nIt was: as they say. So: it goes on.\n"
    assert facts_of(text)[:2] == [("Delivery date", "3 May 2024"), ("Weight", "12 kg")]
    assert not [value for heading, value in facts_of(text) if heading == "Notes"]


def test_fields_side_by_side_are_told_apart_by_the_gap_between_them() -> None:
    text = "Place: Ely, UK Order Number: A7"
    places = {"Place:": 0.05, "Ely,": 0.2, "UK": 0.25, "Order": 0.5, "Number:": 0.55, "A7": 0.75}
    words = tuple(Word(one, text.index(one), Box(x, 0.1, x + 0.045, 0.115)) for one, x in places.items())
    assert facts_of(text, words) == [("Place", "Ely, UK"), ("Order Number", "A7")]


def test_prose_and_code_state_no_facts() -> None:
    prose = "The board met on Monday and decided the following after a very long discussion: nothing.\n"
    code = "def f(x: int) -> None:\n    y: int = 1\n    return y;\n"
    assert facts_of(prose) == [] == facts_of(code)


def test_a_field_says_its_headings_from_outside_in() -> None:
    one = PageFact(FactKind.CELL, "North", "9", 0, 1, "Sales", "2024")
    assert one.heading == "Sales, North, 2024"


def test_two_rows_of_heads_are_one_heading_a_column() -> None:
    text = (
        "| | 2023 | | 2024 | |\n| --- | --- | --- | --- | --- |\n| Item | Plan | Actual | Plan | Actual |\n"
        "| Rent | 10 | 11 | 12 | 13 |\n| Water | 1 | | 3 | 4 |\n"
    )
    assert facts_of(text)[:3] == [("Rent, 2023 Plan", "10"), ("Rent, 2023 Actual", "11"), ("Rent, 2024 Plan", "12")]
    (table,) = find_tables(Page(1, text))
    assert table.columns == ("Item", "2023 Plan", "2023 Actual", "2024 Plan", "2024 Actual") and len(table.rows) == 2
    assert text[slice(*table.head)].endswith("Actual")


def test_a_row_of_words_under_a_full_head_is_no_second_head() -> None:
    text = "| Part | Kind | Place |\n| --- | --- | --- |\n| Pump | old | cellar |\n| Lamp | new | hall |\n"
    (table,) = find_tables(Page(1, text))
    assert table.columns == ("Part", "Kind", "Place") and len(table.rows) == 2


def test_cells_and_fields_have_the_boxes_of_their_words() -> None:
    text = "| Part | Price |\n| --- | --- |\n| Old pump | 12 |\n| Lamp | |\n\nOwner: Ada Byron\n"
    places = {"Old": 0.1, "pump": 0.2, "12": 0.5, "Lamp": 0.1, "Owner:": 0.1, "Ada": 0.3, "Byron": 0.4}
    words = tuple(Word(name, text.index(name), Box(x, 0.1, x + 0.05, 0.2)) for name, x in places.items())
    words = tuple(sorted(words, key=lambda word: word.start))
    grid, form = find_tables(Page(1, text, words))
    assert grid.rows[0].boxes == (Box(0.1, 0.1, 0.25, 0.2), Box(0.5, 0.1, 0.55, 0.2))
    assert grid.rows[1].boxes == (Box(0.1, 0.1, 0.15000000000000002, 0.2), None)
    assert [box and round(box.x0, 2) for box in form.rows[0].boxes] == [0.1, 0.3]
    again = table_from_json(table_to_json(grid))
    assert again.rows[0].boxes[0] == Box(0.1, 0.1, 0.25, 0.2) and again.rows[1].boxes[1] is None


def test_boxes_of_cells_are_kept_beside_the_rows_and_may_be_left_out() -> None:
    text = "| Part | Price |\n| --- | --- |\n| Pump | 12 |\n| Lamp | 7 |\n"
    words = (Word("Pump", text.index("Pump"), Box(0.1, 0.1, 0.2, 0.2)),)
    (table,) = find_tables(Page(1, text, words))
    kept = table_to_json(table)
    assert [len(row) for row in kept["rows"]] == [4, 4] and kept["boxes"] == [[[0.1, 0.1, 0.2, 0.2], None], []]
    assert [row.boxes for row in table_from_json(kept).rows] == [(Box(0.1, 0.1, 0.2, 0.2), None), ()]
    cut = table_from_json({**kept, "rows": kept["rows"][:1]})
    assert len(cut.rows) == 1 and cut.rows[0].boxes[0] == Box(0.1, 0.1, 0.2, 0.2)
    bare = table_from_json({name: value for name, value in kept.items() if name != "boxes"})
    assert [row.cells for row in bare.rows] == [("Pump", "12"), ("Lamp", "7")] and bare.rows[0].boxes == ()
    (plain,) = find_tables(Page(1, text))
    assert "boxes" not in table_to_json(plain)
