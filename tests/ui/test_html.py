"""HTML of the console: whatever comes from outside is text, and links stay at home."""

import pytest

from serve_apps.ui.kit.blocks import pager, problem_card, table
from serve_apps.ui.kit.charts import bars
from serve_apps.ui.kit.formats import many, moment, number, short, size, span
from serve_apps.ui.kit.html import Html, UnsafeLink, join, tag
from serve_apps.ui.kit.problem import Trouble

EVIL = "<img src=x onerror=alert(1)>\"'${1+1}{{value}}`"


@pytest.mark.parametrize(
    "made",
    [
        tag("p", EVIL),
        tag("p", title=EVIL),
        join(EVIL),
        table(["a"], [[EVIL]], caption=EVIL),
        problem_card(Trouble(EVIL, EVIL + ".", EVIL, 400, EVIL)),
        bars([1.0, 2.0], EVIL),
        moment(EVIL),
    ],
)
def test_text_from_outside_is_never_markup_nor_a_template(made: Html) -> None:
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
    assert [number(12345), number(None), short(12_345), short(2_500_000), short(7), short(0.5)] == [
        "12,345",
        "–",
        "12.3k",
        "2.5M",
        "7",
        "0.50",
    ]
    assert [size(512), size(1536), size(5 * 2**30)] == ["512 B", "1.5 KiB", "5.0 GiB"]
    assert [span(0.35), span(4.21), span(200), span(7500), span(90_000)] == [
        "350 ms",
        "4.2 s",
        "3 min 20 s",
        "2 h 5 min",
        "1 d 1 h",
    ]


def test_a_pager_knows_its_ends() -> None:
    first, last = pager("/console/runs?state=failed", 0, 50, 70), pager("/console/runs", 50, 50, 70)
    assert "skip=50" in first and "Newer</a>" not in first and "1–50 of 70" in first
    assert 'href="/console/runs?skip=0"' in last and "Older →</a>" not in last and "51–70 of 70" in last


def test_one_of_something_is_not_told_as_several() -> None:
    assert [many(count, "file") for count in (0, 1, 1200)] == ["0 files", "1 file", "1,200 files"]
    assert [many(count, "entry", "entries") for count in (1, 2)] == ["1 entry", "2 entries"]
