"""What a reader sees of a model's answer before it is checked: its words at once, no evidence, no address."""

import time
from collections.abc import Sequence

import pytest

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.completions import CompletionChunks
from serve_apps.agents.streams.encode import StreamCursor, s3, s4
from serve_apps.agents.streams.subscriber import EventQueue
from serve_apps.retrieval.answers.draft import DraftText
from serve_apps.retrieval.answers.generate import LONGEST, NOTHING


def drafted(text: str, size: int) -> list[str]:
    shown = list[str]()
    draft = DraftText(shown.append)
    for start in range(0, len(text), size):
        draft.feed(text[start : start + size])
    return shown


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("The lease ends in May.", "The lease ends in May."),
        ('It ends in May. [2: "ends in May"]\nIt is red. [1: "is red"]\n', "It ends in May.\nIt is red.\n"),
        ("<think>Let me see [1].</think>\nIt ends in May.", "It ends in May."),
        ("<Thinking>endless", ""),
        (NOTHING, ""),
        (f"  {NOTHING}.", ""),
        ("Not in the sources alone.", "Not in the sources alone."),
        ("Look ![x](https://evil.example/?q=secret) here", "Look !(https: here"),
        ("See www.evil.example/x or mailto:a@b.example now", "See  or  now"),
        (f"**{NOTHING}**", ""),
        (f"> - {NOTHING}.", ""),
        ("It <think>secret</think>ends in May.", "It ends in May."),
        ("If a < b and c <thing> d", "If a < b and c <thing> d"),
        ("Wide  and / or", "Wide  and / or"),
        ("At 10:30 and 1:2.", "At 10:30 and 1:2."),
        ("An open [ bracket", "An open"),
    ],
)
def test_or_03_a_draft_is_the_answers_words_alone(reply: str, shown: str, size: int) -> None:
    """OR-03: however the reply is cut into deltas."""
    assert "".join(drafted(reply, size)).rstrip(" ") == shown


def test_the_first_delta_is_shown_at_once() -> None:
    assert drafted("Hello there", 2)[0] == "He"


def test_a_draft_without_end_is_cut_and_brackets_are_not_waited_for_for_ever() -> None:
    assert LONGEST <= sum(map(len, drafted("word " * LONGEST, 50))) < LONGEST + 100
    assert "after" in "".join(drafted("[" + "x" * 2_000 + " after", 10))


@pytest.mark.parametrize("piece", [" ", "://a", "a", "<", "<think>", "www.", "["])
def test_a_reply_that_degenerates_costs_no_more_than_its_length(piece: str) -> None:
    """A small model repeats itself for ever; nobody else's turn waits for that."""
    began = time.process_time()
    drafted("x" + piece * 20_000 + " y", len(piece))
    assert time.process_time() - began < 2.0


def draft(text: str, seq: int = 3) -> Event:
    return Event(seq, EventKind.DRAFT, {"text": text}, piece=True)


async def read_all(queue: EventQueue) -> Sequence[Event]:
    queue.close()
    return [event async for event in queue]


async def test_drafts_never_stand_in_the_way_of_the_text_that_follows() -> None:
    """The cursor of a reader does not move with them, and a reader who is slow loses drafts, not text."""
    queue, cursor = EventQueue(2), StreamCursor(2)
    for word in ("a", "b", "c", "d"):
        queue.put(draft(word))
    queue.put(Event(3, EventKind.TEXT, {"text": "The whole answer."}))
    events = await read_all(queue)
    assert [one.data["text"] for one in events] == ["a", "b", "The whole answer."]
    assert [cursor.take(one) for one in events] == ["", "", "The whole answer."]
    assert cursor.id == "3" and draft("a").id == "2"


def test_gw_a_draft_is_told_as_what_it_is_on_every_wire() -> None:
    """No client takes it for the answer: S3 and S4 have it beside the content, OpenAI's as reasoning."""
    event = draft("It ends")
    first, second = s3(event, ""), s4(event, "")
    assert first is not None and (first.type, first.content, first.data) == ("thinking", "It ends", {"kind": "draft"})
    assert second is not None and (second.type, second.content, second.is_final) == ("status", "It ends", False)
    (chunk,) = CompletionChunks("c", "m", 1).add(event, "")
    assert chunk["choices"][0]["delta"] == {"reasoning_content": "It ends"}
