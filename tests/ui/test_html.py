"""HTML of the console: whatever comes from outside is text, and links stay at home."""

import pytest

from serve_apps.ui.kit.blocks import data_table, list_pager, problem_card
from serve_apps.ui.kit.charts import bar_chart
from serve_apps.ui.kit.formats import (
    format_count,
    format_duration,
    format_moment,
    format_number,
    format_short,
    format_size,
)
from serve_apps.ui.kit.html import SafeHtml, UnsafeLink, join_html, tag
from serve_apps.ui.kit.problem import ProblemReport

EVIL = "<img src=x onerror=alert(1)>\"'${1+1}{{value}}`"


@pytest.mark.parametrize(
    "made",
    [
        tag("p", EVIL),
        tag("p", title=EVIL),
        join_html(EVIL),
        data_table(["a"], [[EVIL]], caption=EVIL),
        problem_card(ProblemReport(EVIL, EVIL + ".", EVIL, 400, EVIL)),
        bar_chart([1.0, 2.0], EVIL),
        format_moment(EVIL),
    ],
)
def test_text_from_outside_is_never_markup_nor_a_template(made: SafeHtml) -> None:
    assert "<img" not in made
    assert not set("${}`") & set(made)
    assert 'x"' not in made.replace("&quot;", "")


def test_what_is_html_already_is_not_escaped_again() -> None:
    assert tag("p", tag("b", "a & b"), None, 3) == "<p><b>a &amp; b</b>3</p>"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "https://else.example/", "//else.example", "/\\else.example", "/\t/else", "data:,x"]
)
def test_a_link_leads_to_the_console(link: str) -> None:
    with pytest.raises(UnsafeLink):
        tag("a", "x", href=link)


def test_attributes_are_left_out_or_stand_alone() -> None:
    assert tag("input", required=True, disabled=False, value=None, data_x=1) == '<input required data-x="1">'


def test_figures_read_well() -> None:
    assert [
        format_number(12345),
        format_number(None),
        format_short(12_345),
        format_short(2_500_000),
        format_short(7),
        format_short(0.5),
    ] == ["12,345", "–", "12.3k", "2.5M", "7", "0.50"]
    assert [format_size(512), format_size(1536), format_size(5 * 2**30)] == ["512 B", "1.5 KiB", "5.0 GiB"]
    assert [
        format_duration(0.35),
        format_duration(4.21),
        format_duration(200),
        format_duration(7500),
        format_duration(90_000),
    ] == ["350 ms", "4.2 s", "3 min 20 s", "2 h 5 min", "1 d 1 h"]


def test_a_pager_knows_its_ends() -> None:
    first, last = list_pager("/console/runs?state=failed", 0, 50, 70), list_pager("/console/runs", 50, 50, 70)
    assert "skip=50" in first and "Newer</a>" not in first and "1–50 of 70" in first
    assert 'href="/console/runs?skip=0"' in last and "Older →</a>" not in last and "51–70 of 70" in last


def test_one_of_something_is_not_told_as_several() -> None:
    assert [format_count(count, "file") for count in (0, 1, 1200)] == ["0 files", "1 file", "1,200 files"]
    assert [format_count(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]
