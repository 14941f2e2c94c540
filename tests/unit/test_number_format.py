"""Numbers, dates and texts of spreadsheets as their cells show them."""

import pytest

from pipelines.documents.extract.sheets.number_format import format_general, format_number, shown_text


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1067, "00000", "01067"),
        (42, '"K-"000000', "K-000042"),
        (0.155, "0.0 %", "15.5 %"),
        (0.5, "0%", "50%"),
        (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
        (1234, "[$¥-411]#,##0", "¥1,234"),
        (-1234.5, "_-* #,##0.00 €_-;-* #,##0.00 €_-", "-1,234.50 €"),
        (-1234.5, "$#,##0.00_);[Red]($#,##0.00)", "($1,234.50)"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "-"??_);_(@_)', "-"),
        (1234567, '#,##0,"k"', "1,235k"),
        (12345678, '0.0,,"M"', "12.3M"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"),
        (12345.6, "0.00E+00", "1.23E+04"),
        (123456, "##0.0E+0", "123.5E+3"),
        (0.00012, "0.0E-0", "1.2E-4"),
        (9.9996, "0.00E+00", "1.00E+01"),
        (1.5, "# ?/?", "1 1/2"),
        (0.3125, "# ??/??", "5/16"),
        (0.25, "# ??/100", "25/100"),
        (2, "# ?/?", "2"),
        (1.25, "?/?", "5/4"),
        (12, "0,000", "0,012"),
        (12.5, ".00", "12.50"),
        (0.1 + 0.2, "General", "0.3"),
        (7.5, 'General" kg"', "7.5 kg"),
        (-0.001, "#,##0.00", "0.00"),
        (2.675, "0.00", "2.68"),
        (0, '0;-0;"null";@', "null"),
        (5, ";;;", "5"),
        (-18.4, '0.0"°C"', "-18.4°C"),
        (1e300, "0", "1" + "0" * 300),
    ],
)
def test_numbers_by_their_format(value: float, code: str, text: str) -> None:
    assert format_number(value, code) == text


@pytest.mark.parametrize(("value", "text"), [(2_500_000, "2.5M"), (2500, "2.5k"), (25, "25"), (-5, "-5")])
def test_sections_are_chosen_by_their_conditions(value: float, text: str) -> None:
    assert format_number(value, '[>=1000000]0.0,,"M";[>=1000]0.0,"k";0') == text


def test_a_minus_is_never_lost() -> None:
    """A section keeps the sign unless nothing but negative numbers comes to it, which writes it in its own way."""
    assert format_number(-5, "[<100]0;0") == "-5"
    assert format_number(-3, "[Red][<0]-0.0;0.0") == "-3.0"
    assert format_number(-3, "0.0;(0.0)") == "(3.0)"


@pytest.mark.parametrize(
    ("serial", "code", "text"),
    [
        (27.5 / 24, "[h]:mm", "27:30"),
        (0.5, "[mm]:ss", "720:00"),
        (45000.5868, "dd.mm.yyyy hh:mm", "15.03.2023 14:05"),
        (45000, "[$-407]d. mmmm yyyy", "15. März 2023"),
        (45000, "[$-419]d mmmm yyyy", "15 марта 2023"),
        (45000, "[$-804]dddd", "星期三"),
        (45000, 'yyyy"年"m"月"d"日"', "2023年3月15日"),
        (45000, "d-mmm-yy", "15-Mar-23"),
        (45000, "m/d/yyyy", "3/15/2023"),
        (45000, "DD/MM/YYYY", "15/03/2023"),
        (45000, "mm-dd-yy", "2023-03-15"),  # the built-in short date, which each system writes in its own way
        (45000, "[$-F800]dddd, mmmm dd, yyyy", "2023-03-15"),
        (0.75, "h:mm AM/PM", "6:00 PM"),
        (0.0123, "mm:ss.0", "17:42.7"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (60, "yyyy-mm-dd", "1900-02-29"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (-1, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
    ],
)
def test_dates_and_durations_by_their_format(serial: float, code: str, text: str) -> None:
    assert format_number(serial, code) == text


def test_dates_of_workbooks_that_count_from_1904() -> None:
    assert format_number(43538, "yyyy-mm-dd", base_1904=True) == "2023-03-15"


def test_texts_with_words_around_them() -> None:
    assert shown_text("7a", '0;-0;0;"Nr. "@') == "Nr. 7a"
    assert shown_text("7a", "00000") == "7a"


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (0.1 + 0.2, "0.3"), (12345678901234567890, "12345678901234567890"), (1e16, "1" + "0" * 16)],
)
def test_numbers_without_a_format(value: float, text: str) -> None:
    assert format_general(value) == text


@pytest.mark.parametrize(
    "code", ["0" * 5_000, "#" * 5_000 + "." + "0" * 5_000, '"', "[", "[$", ";" * 50, "\\", "E+", "/", "?/", "@@;" * 9]
)
def test_formats_that_are_garbage_still_show_the_number(code: str) -> None:
    assert format_number(7, code) is not None
    assert len(format_number(7, code)) < 10_000
