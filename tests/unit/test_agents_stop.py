"""Stop sequences: where a shown text ends, whatever the pieces it comes in."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from serve_apps.agents.turn.stop_sequences import StopSequences

LETTERS = st.text("ab", max_size=12)


@given(LETTERS, st.lists(st.text("ab", min_size=1, max_size=4), max_size=3), st.lists(st.integers(0, 12), max_size=4))
def test_gw_04_pieces_are_cut_as_the_whole_is(text: str, sequences: list[str], cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stop = StopSequences(sequences)
    pieces = [text[start:end] for start, end in pairwise(places)]
    shown = "".join(stop.feed(piece) for piece in pieces) + stop.flush()
    found = [at for one in sequences if (at := text.find(one)) >= 0]
    assert shown == text[: min(found, default=len(text))]
    assert stop.ended == bool(found)
    assert StopSequences(sequences).cut(text) == shown


def test_nothing_that_cannot_begin_a_sequence_is_held_back() -> None:
    stop = StopSequences(["END"])
    assert [stop.feed("all of it"), stop.feed(" E"), stop.feed("N"), stop.feed("o")] == ["all of it", " ", "", "ENo"]


def test_without_sequences_everything_is_shown_at_once() -> None:
    assert StopSequences(["", ""]).feed("x") == "x"
