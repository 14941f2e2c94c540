"""Events in the three vocabularies: complete, no character lost or doubled, nothing told that is not meant to be."""

import json
from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.collect import ReplyCollector
from serve_apps.agents.streams.completions import CompletionChunks, completion_body
from serve_apps.agents.streams.encode import (
    LAST,
    TABLE,
    EventEncoding,
    S3Name,
    S4Type,
    StreamChunk,
    StreamCursor,
    Verbosity,
    s3,
    s4,
    split_verbosity_flag,
)

APPROVAL = {"id": "a1", "tool": "http_post", "arguments": {"url": "u"}, "digest": "d", "reason": "r", "expires_at": "t"}
DATA: dict[EventKind, dict[str, Any]] = {
    EventKind.STATUS: {"state": "accepted", "run_id": "r", "session_id": "s", "agent_id": "a", "owner": "node-7"},
    EventKind.ROUTE: {"path": "general", "rule": "none", "cached": False},
    EventKind.RETRIEVED: {"sources": [{"n": 1}], "generation": 1, "fallback": None},
    EventKind.MODEL: {"connection": "c", "model": "m", "task": "chat", "reason": "primary"},
    EventKind.FALLBACK: {"left": "a", "taken": "b", "why": "unavailable"},
    EventKind.DRAFT: {"text": "It may"},
    EventKind.THINKING: {"text": "a secret thought"},
    EventKind.PLAN: {"steps": [{"id": "1", "label": "look"}]},
    EventKind.STEP_START: {"id": "1", "label": "look"},
    EventKind.STEP_END: {"id": "1", "outcome": "SUCCESS", "note": "found"},
    EventKind.TEXT: {"text": "Hello."},
    EventKind.CITATION: {"n": 1, "filename": "lease.pdf", "page": 2},
    EventKind.TOOL_CALL: {"id": "c1", "name": "calculator", "arguments": {"expression": "6*7"}, "tier": 1},
    EventKind.TOOL_RESULT: {"id": "c1", "name": "calculator", "result": "forty-two", "approved": True, "ms": 3},
    EventKind.APPROVAL_REQUIRED: {"approval": APPROVAL},
    EventKind.APPROVAL_DECIDED: {"id": "a1", "state": "approved", "reviewer": "u", "arguments": {"url": "u"}},
    EventKind.INPUT_REQUIRED: {
        "input": {"id": "i1", "question": "Which?", "category": "clarification", "options": [], "expires_at": "t"}
    },
    EventKind.INPUT_GIVEN: {"id": "i1", "state": "answered", "reply": "the red one"},
    EventKind.USAGE: {"prompt_tokens": 3, "completion_tokens": 2, "cost_usd": 0.5, "connection": "c"},
    EventKind.ERROR: {"code": "c", "title": "t", "detail": "d", "fix": "f", "traceback": "File x.py"},
    EventKind.DONE: {
        "answer": "Hello.",
        "finish_reason": "stop",
        "confidence": 0.9,
        "citations": [],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost_usd": 0.5},
        "agent_trace": [{"step": "model"}],
    },
}


def event(kind: EventKind, seq: int = 1) -> Event:
    return Event(seq, kind, DATA[kind])


def test_x_10_every_kind_has_a_row_and_every_name_of_both_vocabularies_a_kind() -> None:
    """X-10, ST-01, ST-02: the mapping is a table over all kinds, and each recovered name is used."""
    assert set(TABLE) == set(EventKind) == set(DATA)
    assert {row.s3 for row in TABLE.values()} == set(get_args(S3Name))
    assert {row.s4 for row in TABLE.values()} == set(get_args(S4Type))
    for kind in EventKind:
        chunk = s4(event(kind), "x", Verbosity.DEBUG)
        assert chunk is not None and set(chunk.json()) == {"type", "content", "data", "is_final"}
        assert chunk.is_final == (kind in LAST)
        json.dumps(chunk.json())
    assert StreamChunk("text") == StreamChunk("text", "", {}, False)


def test_st_03_done_carries_the_whole_answer_and_status_says_what_goes_on() -> None:
    """ST-03: done has the accumulated content, error its details, status the states of the documents."""
    done = s4(event(EventKind.DONE), "")
    assert done is not None and (done.content, done.is_final) == ("Hello.", True)
    failed = s4(event(EventKind.ERROR), "")
    assert failed is not None and failed.data == {"kind": "error", "code": "c", "title": "t", "detail": "d", "fix": "f"}
    busy = s4(Event(1, EventKind.STATUS, {"state": "executing"}), "")
    assert busy is not None and busy.content == "executing_tools"
    waiting = s4(event(EventKind.APPROVAL_REQUIRED), "")
    assert waiting is not None and waiting.data == {"requires_approval": True, "approval_request": APPROVAL}


SECRETS = ("secret thought", "6*7", "forty-two", "node-7", "File x.py", "primary", "lease-generation", '"tier"')


def test_st_05_a_reader_sees_internals_only_if_they_ask() -> None:
    """ST-05: DEFAULT hides reasoning, arguments, results and models; VERBOSE and DEBUG show more and more."""
    told = {
        verbosity: json.dumps([c.json() for kind in EventKind if (c := s3(event(kind), "Hello.", verbosity))])
        for verbosity in Verbosity
    }
    assert not [secret for secret in SECRETS if secret in told[Verbosity.DEFAULT]]
    for secret in ("secret thought", "6*7", "forty-two"):
        assert secret in told[Verbosity.VERBOSE]
    assert "primary" not in told[Verbosity.VERBOSE] and "primary" in told[Verbosity.DEBUG]
    assert "lease.pdf" in told[Verbosity.DEFAULT] and "http_post" in told[Verbosity.DEFAULT]
    assert EventEncoding("done", "done").plain is None


@pytest.mark.parametrize(
    ("message", "text", "verbosity"),
    [
        ("[VERBOSE] What now?", "What now?", Verbosity.VERBOSE),
        (" [debug]What now?", "What now?", Verbosity.DEBUG),
        ("What does [DEBUG] mean?", "What does [DEBUG] mean?", None),
        ("", "", None),
    ],
)
def test_st_05_flags_stand_at_the_beginning(message: str, text: str, verbosity: Verbosity | None) -> None:
    """ST-05: [VERBOSE] and [DEBUG] before a message."""
    assert split_verbosity_flag(message) == (text, verbosity)


def a_run(rng: Random) -> tuple[list[Event], str]:
    """Live events of a run as a journal tells them: texts in pieces, other events anywhere between."""
    told: list[Event] = []
    texts = ["".join(rng.choices("ab c\n\u00e9\U0001f600", k=rng.randint(1, 30))) for _ in range(rng.randint(0, 4))]
    seq = 0
    for text in texts:
        shown = rng.randint(0, len(text))
        at = 0
        while at < shown:
            for _ in range(rng.choice((0, 0, 0, 1, 2))):
                seq += 1
                told.append(Event(seq, EventKind.STATUS, {"state": "thinking"}))
            if rng.random() < 0.3:
                told.append(Event(seq + 1, EventKind.DRAFT, {"text": "It may"}, piece=True))
            end = rng.randint(at + 1, shown)
            told.append(Event(seq + 1, EventKind.TEXT, {"text": text[at:end]}, at, piece=True))
            at = end
        seq += 1
        told.append(Event(seq, EventKind.TEXT, {"text": text}, at))
    return told, "".join(texts)


def stored(events: list[Event]) -> list[Event]:
    return [Event(e.seq, e.kind, e.data) for e in events if not e.piece]


def read(reading: StreamCursor, events: list[Event]) -> str:
    return "".join(fresh for event in events if (fresh := reading.take(event)))


@given(st.integers(0, 2**32))
@settings(max_examples=150)
def test_no_character_is_doubled_or_lost(seed: int) -> None:
    """However texts are cut, whatever comes between, wherever a reader leaves and comes back, if pieces are lost."""
    rng = Random(seed)
    events, text = a_run(rng)
    assert read(StreamCursor(), events) == text == read(StreamCursor(), stored(events))
    first = StreamCursor()
    seen = read(first, events[: rng.randint(0, len(events))])
    assert seen + read(StreamCursor.after(first.id), stored(events)) == text
    assert read(StreamCursor(), [e for e in events if not e.piece or rng.random() < 0.5]) == text


def test_the_id_is_the_events_own() -> None:
    events = [Event(1, EventKind.STATUS, {"state": "x"}), Event(2, EventKind.TEXT, {"text": "ab"}, 0, piece=True)]
    reading = StreamCursor()
    for told in [*events, Event(2, EventKind.TEXT, {"text": "abcd"}, 2)]:
        reading.take(told)
        assert reading.id == told.id
    assert reading.seq == 2


@pytest.mark.parametrize("garbage", ["x", "-1", "1.x", "1.-2", "٣", "9" * 30, "1." + "9" * 30, "."])
def test_a_forged_event_id_is_refused(garbage: str) -> None:
    with pytest.raises(ValueError, match="event's id"):
        StreamCursor.after(garbage)


def completion(events: list[Event], **options: Any) -> list[dict[str, Any]]:
    chunks, reading = CompletionChunks("chatcmpl-1", "assistant", 7, **options), StreamCursor()
    told = [chunks.start()]
    for one in events:
        fresh = reading.take(one)
        told += [] if fresh is None else list(chunks.add(one, fresh))
    return told


def test_st_04_a_completion_in_chunks() -> None:
    """ST-04: an empty acknowledgement with the role, content, the reason, and the usage where it is asked for."""
    events = [event(EventKind.STATUS), event(EventKind.THINKING, 2), event(EventKind.TOOL_CALL, 3)]
    events += [event(EventKind.TEXT, 4), event(EventKind.DONE, 5)]
    first, text, end, usage = completion(events, usage=True)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert text["choices"][0]["delta"] == {"content": "Hello."} and text["choices"][0]["finish_reason"] is None
    assert end["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    assert len({chunk["id"] for chunk in (first, text, end, usage)}) == 1
    assert all("usage" not in chunk for chunk in completion(events))
    thought = completion(events, verbosity=Verbosity.VERBOSE)
    assert {"reasoning_content": "a secret thought"} in [chunk["choices"][0]["delta"] for chunk in thought]


def test_st_04_tools_of_the_client_are_handed_to_the_client() -> None:
    """ST-04: only calls that the client makes are tool calls to it; ours stay inside."""
    call = {"id": "c9", "name": "weather", "arguments": {"city": "Köln"}}
    done = Event(
        2, EventKind.DONE, DATA[EventKind.DONE] | {"answer": "", "finish_reason": "tool_calls", "tool_calls": [call]}
    )
    _, calls, end = completion([event(EventKind.TOOL_CALL), done])
    (told,) = calls["choices"][0]["delta"]["tool_calls"]
    assert (told["index"], told["id"], told["function"]["name"]) == (0, "c9", "weather")
    assert json.loads(told["function"]["arguments"]) == {"city": "Köln"}
    assert end["choices"][0]["finish_reason"] == "tool_calls"
    found = ReplyCollector()
    found.add(done)
    message = completion_body(found, "id", "m", 1)["choices"][0]["message"]
    assert message["content"] is None and message["tool_calls"][0]["type"] == "function"


def test_an_answer_without_text_events_and_a_pending_approval_reach_a_chat_window() -> None:
    _, text, _ = completion([event(EventKind.DONE)])
    assert text["choices"][0]["delta"] == {"content": "Hello."}
    _, asked, end = completion([event(EventKind.APPROVAL_REQUIRED)])
    assert "POST /api/approvals/a1" in asked["choices"][0]["delta"]["content"]
    assert asked["aos"]["approval"] == APPROVAL and end["choices"][0]["finish_reason"] == "stop"
    _, failed = completion([event(EventKind.ERROR)])
    assert failed == {"error": {"message": "t: d", "type": "server_error", "param": None, "code": "c"}}


def test_a_run_folded_into_one_reply() -> None:
    found = ReplyCollector()
    for seq, kind in enumerate([k for k in EventKind if k not in LAST] + [EventKind.DONE], 1):
        found.add(event(kind, seq))
    assert (found.run, found.session, found.agent) == ("r", "s", "a")
    assert (found.answer, found.model, found.path, found.confidence) == ("Hello.", "m", "general", 0.9)
    assert found.tools_used == ["calculator"] and found.trace == [{"step": "model"}]
    assert (found.prompt_tokens, found.completion_tokens, found.cost_usd) == (3, 2, 0.5)
    assert [step["step"] for step in found.steps] == ["route", "retrieval", "model", "plan", "tool"]
    assert "6*7" not in json.dumps(found.steps) and "forty-two" not in json.dumps(found.steps)
    gone = Event(9, EventKind.STATUS, {"state": "cancelled"})
    cancelled = ReplyCollector()
    cancelled.add(gone)
    told = s4(gone, "")
    assert cancelled.finish_reason == "cancelled" and told is not None and told.is_final
    assert completion([gone])[-1]["choices"][0]["finish_reason"] == "stop"
    asked = ReplyCollector()
    asked.add(event(EventKind.APPROVAL_REQUIRED))
    assert asked.approval == APPROVAL
    asked.add(event(EventKind.APPROVAL_DECIDED))
    assert asked.approval is None, "a resumed run does not ask again"
