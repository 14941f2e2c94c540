"""Replies put together from what servers really send, and from what they should not."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.basics.errors import Unavailable
from cluster.models.chat.openai_requests import as_object, drop_refused_fields, openai_body, refused_field
from cluster.models.chat.reply_accumulator import LONGEST, MOST_CALLS, ReplyAccumulator
from cluster.models.chat.retrying import retry_after, retry_pause
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, TokenUsage, ToolSpec
from cluster.models.model_errors import Busy

ASK = ChatRequest((ModelMessage("user", "x" * 40),))


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}], **more}


def call(**parts: Any) -> dict[str, Any]:
    function = {name: parts.pop(name) for name in ("name", "arguments") if name in parts}
    return chunk({"tool_calls": [{**parts, "function": function}]})


def whole(*chunks: Any, finish: str | None = "stop") -> ModelReply:
    gathering = ReplyAccumulator(ASK)
    for one in chunks:
        gathering.feed(one)
    if finish:
        gathering.feed(chunk(finish=finish))
    return gathering.reply()


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        # OpenAI: id and name first, arguments in fragments, two calls interleaved.
        (
            [
                call(index=0, id="a", name="f", arguments=""),
                call(index=1, id="b", name="g", arguments='{"y"'),
                call(index=0, arguments='{"x":'),
                call(index=1, arguments=": 2}"),
                call(index=0, arguments=" 1}"),
            ],
            [("a", "f", '{"x": 1}'), ("b", "g", '{"y": 2}')],
        ),
        # Every call whole, without indices, or all of them with index 0 and ids of their own.
        (
            [call(name="f", arguments="{}"), call(name="f", arguments='{"x": 1}')],
            [("call_0", "f", "{}"), ("call_1", "f", '{"x": 1}')],
        ),
        (
            [call(index=0, id="a", name="f", arguments="{}"), call(index=0, id="b", name="f", arguments="{}")],
            [("a", "f", "{}"), ("b", "f", "{}")],
        ),
        # The same id or name in every fragment.
        (
            [call(index=0, id="a", name="f", arguments="{"), call(index=0, id="a", name="f", arguments="}")],
            [("a", "f", "{}")],
        ),
        ([call(index=0, name="f", arguments="{"), call(index=0, name="f", arguments="}")], [("call_0", "f", "{}")]),
        # Arguments as an object; none at all; an id that comes late; the field of before.
        ([call(name="f", arguments={"x": 1})], [("call_0", "f", '{"x": 1}')]),
        ([call(index=0, id="a", name="f")], [("a", "f", "{}")]),
        ([call(index=0, name="f", arguments="{"), call(index=0, id="a", arguments="}")], [("a", "f", "{}")]),
        (
            [chunk({"function_call": {"name": "f", "arguments": "{"}}), chunk({"function_call": {"arguments": "}"}})],
            [("call_0", "f", "{}")],
        ),
        # Fragments of nothing are no calls.
        ([call(arguments="{}"), chunk({"tool_calls": [None, 1, {"function": "f"}]})], []),
    ],
)
def test_mr_11_calls_from_fragments(chunks: list[Any], calls: list[tuple[str, str, str]]) -> None:
    """MR-11: whatever of index, id and name a server leaves out; missing ids are derived from the position."""
    reply = whole(*chunks)
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == calls
    assert reply.finish_reason == ("tool_calls" if calls else "stop")


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"content": "a"}, "a", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}, "a", ""),
        ({"reasoning_content": "r"}, "", "r"),
        ({"reasoning": "r", "content": None}, "", "r"),
        ({"refusal": "I cannot."}, "I cannot.", ""),
        ({"content": 7, "reasoning": {"x": 1}}, "", ""),
    ],
)
def test_channels(delta: Any, text: str, reasoning: str) -> None:
    reply = whole(chunk(delta))
    assert (reply.content, reply.reasoning) == (text, reasoning)


def test_usage_is_the_providers_or_an_estimate() -> None:
    """MR-11: counted by the provider where it counts, else four characters a token, and marked."""
    counted = whole(chunk({"content": "abcdefgh"}), chunk(usage={"prompt_tokens": 5, "completion_tokens": 2}))
    assert counted.usage == TokenUsage(5, 2)
    assert whole(chunk({"content": "abcdefgh"})).usage == TokenUsage(10, 2, estimated=True)
    assert whole(chunk(usage={"prompt_tokens": None, "completion_tokens": "2"})).usage.estimated
    tool = ChatRequest(ASK.messages, tools=(ToolSpec("f", "d" * 100),))
    gathering = ReplyAccumulator(tool)
    gathering.feed(chunk(finish="stop"))
    assert gathering.reply().usage.prompt_tokens > 35


def test_a_reply_that_broke_off_is_none() -> None:
    with pytest.raises(Unavailable, match="broke off"):
        whole(chunk({"content": "half of it"}), finish=None)
    with pytest.raises(Unavailable, match="broke off"):
        usage = {"prompt_tokens": 1, "completion_tokens": 1}  # some servers count with every piece
        whole(chunk({"content": "half of it"}, usage=usage), finish=None)
    assert whole(chunk({"content": "all"}), {"choices": [], "usage": usage}, finish=None).content == "all"
    with pytest.raises(Unavailable, match="no end"):
        whole(*[chunk({"content": "x" * 1_000_000})] * (LONGEST // 1_000_000 + 1))


def test_calls_without_end_are_refused() -> None:
    """Without arguments they add no character to the reply."""
    asked = [call(index=n, id=f"c{n}", name="f") for n in range(MOST_CALLS)]
    assert len(whole(*asked).tool_calls) == MOST_CALLS
    with pytest.raises(Unavailable, match="more than 1000 tools"):
        whole(*asked, call(index=MOST_CALLS, id="c", name="f"))
    with pytest.raises(Unavailable, match="names tools by more than"):
        whole(*[call(index=n, id=f"c{n}", name="x" * 1_000_000) for n in range(LONGEST // 1_000_000 + 1)])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "delta",
                    "message",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                    "id",
                    "index",
                    "content",
                    "usage",
                    "error",
                    "type",
                    "content_block",
                    "text",
                    "input",
                    "stop_reason",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.lists(JSON, max_size=4))
def test_garbage_is_unavailable_and_nothing_else(events: list[Any]) -> None:
    gathering = ReplyAccumulator(ASK)
    for event in events:
        with suppress(Unavailable):
            gathering.feed(event)
    with suppress(Unavailable):
        assert isinstance(gathering.reply().content, str)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is.",
            "temperature",
        ),
        (
            '[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]',
            "stream_options",
        ),
        ("This model's maximum context length is 4096 tokens; reduce max_tokens", None),
        ("unknown model 'stopper'", None),
    ],
)
def test_which_field_a_refusal_is_about(message: str, field: str | None) -> None:
    body = openai_body(ASK, "m") | {"stream": True, "stream_options": {}}
    assert refused_field(message, body) == field


def test_refused_fields_are_left_out_or_renamed() -> None:
    body = {"max_tokens": 5, "seed": 1, "model": "m"}
    assert drop_refused_fields(body, {"max_tokens": "max_completion_tokens", "seed": None}) == {
        "max_completion_tokens": 5,
        "model": "m",
    }
    assert "max_completion_tokens" not in drop_refused_fields(
        body, {"max_tokens": "max_completion_tokens", "max_completion_tokens": None}
    )


def test_arguments_for_those_who_insist_on_objects() -> None:
    assert as_object('{"a": 1}') == {"a": 1}
    assert as_object("[1]") == {"unparsed": "[1]"} and as_object("[" * 100_000)["unparsed"]


def test_x_07_waits() -> None:
    """X-07: jitter of a quarter either way, at most 15 s; the server's own wait counts, unless it is too long."""
    assert [retry_pause(8, Unavailable(), chance) for chance in (0, 0.5, 1)] == [6, 8, 10]
    assert retry_pause(14, Unavailable(), 1) == 15
    assert retry_pause(2, Busy(retry_after=9), 0.5) == 9 and retry_pause(8, Busy(retry_after=1), 0.5) == 8
    assert retry_pause(2, Busy(retry_after=16), 0.5) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("", 0),
        ("soon", 0),
        ("-3", 0),
        ("nan", 0),
        ("inf", 0),
        ("Wed, 21 Oct 2026 07:28:30 GMT", 30),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0),
        ("Wed, 21 Oct 2026 07:28:30", 30),
    ],
)
def test_retry_after(value: str, seconds: float) -> None:
    """X-07: a number of seconds or a date, counted from the server's own clock."""
    assert retry_after({"retry-after": value, "date": "Wed, 21 Oct 2026 07:28:00 GMT"}) == seconds
