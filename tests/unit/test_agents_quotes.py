"""Marks in a stream: whole or not at all, and none that nothing supports."""

import random
import re

import pytest

from serve_apps.agents.turn.knowledge import SourceList
from serve_apps.agents.turn.quotes import QuoteChecker
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard
from tests.fakes.agents import Ticks

PAGE = "The lease ends in May 2027. Rent is due on the first. Pets are welcome."
MARK = re.compile(r"\[\d+\]")
REPLIES = [
    'It ends in May [1: "The lease ends in May 2027"]. Rent comes on the first. [1: "Rent is due on the first."] Fine.',
    'Pets may come [1: "Pets are welcome"] and rent is due [1: "Rent is due on the first."]; see [7] and [1].',
    'Invented [1: "The lease ends in June 2027"]. Nowhere [4: "The lease ends in May 2027"]. Bare [1]. Half [1: "Th',
    'Many [1: "The lease ends in May 2027"] [1: "Rent is due on the first."][1: "Pets are welcome"]\nand a line.',
    'In May 2027[1]. So it says[1][2], twice [1] [1]: [1: "The lease ends in May 2027"][1] and [1](page).',
    '[1: "Pets are welcome"] comes first. ' + "Long words without an end " * 30 + '[1: "Pets are welcome"].',
]


def quotes() -> QuoteChecker:
    sources = SourceList()
    passage = {
        "document_id": "d",
        "version_id": "v",
        "chunk_id": "c",
        "filename": "lease.pdf",
        "page": 1,
        "score": 1.0,
        "text": PAGE,
        "spans": [[1, 0, len(PAGE)]],
    }
    sources.add([passage])
    return QuoteChecker(sources)


def stream(text: str, chance: random.Random) -> tuple[list[str], str, QuoteChecker]:
    pieces: list[str] = []
    checked, ticks = quotes(), Ticks()
    release = StreamFilter(pieces.append, ticks, checked, StreamGuard())
    at = 0
    while at < len(text):
        size = chance.randrange(1, 12)
        ticks.seconds += chance.choice([0.0, 0.06])
        release.feed(text[at : at + size])
        at += size
    return pieces, release.finish(text), checked


@pytest.mark.parametrize("text", REPLIES)
def test_a_mark_is_never_split_between_events(text: str) -> None:
    """EX-08: however a model's reply is cut, each event holds whole marks only."""
    chance = random.Random(text)
    for _ in range(60):
        pieces, whole, _ = stream(text, chance)
        assert "".join(pieces) == whole
        ends, at = set(), 0
        for piece in pieces:
            at += len(piece)
            ends.add(at)
        inside = {n for mark in MARK.finditer(whole) for n in range(mark.start() + 1, mark.end())}
        assert not ends & inside


@pytest.mark.parametrize("text", REPLIES)
def test_every_mark_that_is_shown_is_a_citation_whose_quote_is_on_the_page(text: str) -> None:
    """EX-02: marks of sources that there are not, of quotes that are invented, bare ones and halves are removed."""
    _, whole, checked = stream(text, random.Random(1))
    known = {one["n"]: one for one in checked.citations}
    assert {int(mark[1:-1]) for mark in MARK.findall(whole)} == set(known)
    for cited in known.values():
        assert PAGE[cited["start"] : cited["end"]] == cited["quote"]
    assert "[" not in MARK.sub("", whole)


def test_a_bare_mark_is_removed_wherever_it_stands_but_in_code() -> None:
    """EX-02: once there is a citation 1, a `[1]` that nobody checked would be read as it."""
    said = (
        'It ends in May 2027[1]. So it says[1][2], twice [1] [1]: [1: "The lease ends in May 2027"][1] and [1](page).'
    )
    code = "Take `rows[1]`, or:\n```\nrows[1] = [1: 2]\nother[2]\n```\nand that[1]."
    _, whole, _ = stream(f"{said}\n{code}", random.Random(2))
    assert whole == (
        "It ends in May 2027. So it says, twice: [1] and(page).\n"
        "Take `rows[1]`, or:\n```\nrows[1] = [1: 2]\nother[2]\n```\nand that."
    )
