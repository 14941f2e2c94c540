"""Calls are read out of whatever models write, and out of nothing else."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.models.messages import ModelReply, ToolCall, ToolSpec
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.parsing.prompt import react_instructions, stop_sequences

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "agents"
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
WEATHER = ToolSpec(
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": TEXT, "days": WHOLE}, "required": ["city"]},
)
SEARCH = ToolSpec(
    "search_documents",
    "Passages of documents.",
    {"type": "object", "properties": {"query": TEXT, "top_k": WHOLE}, "required": ["query"]},
)
LIST = ToolSpec("list_files", "Files.", {"type": "object", "properties": {}})
TOOLS = (WEATHER, SEARCH, LIST)


def said(text: str, finish: str = "stop") -> ParsedReply:
    return parse_reply(ModelReply(text, finish_reason=finish), TOOLS, "run.1")


def native(arguments: str, name: str = "get_weather", id: str = "c1") -> ParsedReply:
    return parse_reply(ModelReply("", (ToolCall(id, name, arguments),), "tool_calls"), TOOLS, "run.1")


def texts(name: str) -> list[str]:
    return (SAMPLES / name).read_text(encoding="utf-8").removesuffix("\n").split("\n=====\n")


@pytest.mark.parametrize("text", texts("calls.txt"))
def test_every_syntax_is_read(text: str) -> None:
    """TC-02, MR-08: each family's own way to write a call, as it stands in the content."""
    parsed = said(text)
    assert parsed.calls
    assert parsed.answer is None
    for call in parsed.calls:
        assert (call.name, call.problem, call.tier) == ("get_weather", None, 2)
        assert call.arguments["city"] in ("Paris", "Rome")
        assert call.arguments.get("days", 3) == 3


@pytest.mark.parametrize("text", texts("no_calls.txt"))
def test_no_call_is_invented(text: str) -> None:
    """TC-02: examples, quotations, definitions and prose about tools are answers."""
    parsed = said(text)
    assert parsed.calls == ()
    assert parsed.answer


@pytest.mark.parametrize(
    "raw",
    [
        '{"city": "Paris", "days": 3}',
        '"{\\"city\\": \\"Paris\\", \\"days\\": \\"3\\"}"',
        '{"city": "Paris", "days": "3",}',
        "{'city': 'Paris', 'days': 3}",
        '{"city": "Paris", "days": 3}}',
        '{city: "Paris", days: 3.0}',
    ],
)
def test_native_arguments_are_mended(raw: str) -> None:
    """TC-01: broken or doubly encoded JSON of a native call has one plausible reading."""
    (call,) = native(raw).calls
    assert (call.id, call.name, call.tier, call.problem) == ("c1", "get_weather", 1, None)
    assert call.arguments == {"city": "Paris", "days": 3}


def test_native_calls_that_cannot_be_carried_out_say_why() -> None:
    """TC-01: an observation, never an exception."""
    for raw in ("Paris", '{"city": "Par', "[1, 2, 3]", "\x00", "{" * 5000, '{"a":' * 900 + "1" + "}" * 900):
        (call,) = native(raw).calls
        assert call.problem and "city" in call.problem
        assert call.arguments == {}
    (unknown,) = native("{}", name="rm_rf").calls
    assert unknown.problem and "rm_rf" in unknown.problem
    assert native("", name="list_files").calls[0].arguments == {}


def test_the_same_call_within_a_reply_is_made_once() -> None:
    """Natively and in text; the same name with other arguments is another call, and ids stay those of the first."""
    line = 'get_weather(city="Paris")'
    assert [dict(call.arguments) for call in said(f"{line}\n{line}\n{line}").calls] == [{"city": "Paris"}]
    pair = said(f'{line}\nget_weather(city="Rome")\n{line}').calls
    assert [call.arguments["city"] for call in pair] == ["Paris", "Rome"]
    given = '{"city": "Paris"}'
    twice = (ToolCall("a", "get_weather", given), ToolCall("b", "get_weather", '{ "city":"Paris" }'))
    assert [call.id for call in parse_reply(ModelReply("", twice, "tool_calls"), TOOLS, "run.1").calls] == ["a"]
    broken = (ToolCall("a", "get_weather", "}{"), ToolCall("b", "get_weather", "}{"))
    assert len(parse_reply(ModelReply("", broken, "tool_calls"), TOOLS, "run.1").calls) == 2, "each gets its answer"


@pytest.mark.parametrize("text", ["get_weather(city=None)", '{"name": "get_weather", "arguments": {"city": null}}'])
def test_null_for_a_required_parameter_is_a_flaw_that_the_model_is_told(text: str) -> None:
    call = said(text).calls[0]
    assert call.problem is not None and "city" in call.problem and call.arguments == {}
    assert native('{"city": null}').calls[0].problem is not None
    assert native('{"city": "Paris", "days": null}').calls[0].problem is None, "an optional one may be left open"
    nullable = ToolSpec(
        "f", "", {"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}
    )
    assert (
        parse_reply(ModelReply("", (ToolCall("x", "f", '{"a": null}'),)), (nullable,), "run.1").calls[0].problem is None
    )


def test_ids_are_derived_not_random() -> None:
    """TC-01: a resumed run reads the same reply to the same ids."""
    two = ModelReply("", (ToolCall("", "get_weather", '{"city": "Paris"}'), ToolCall("", "list_files", "{}")))
    first, again, other = (
        parse_reply(two, TOOLS, "run.1"),
        parse_reply(two, TOOLS, "run.1"),
        parse_reply(two, TOOLS, "run.2"),
    )
    assert first == again
    assert len({call.id for call in (*first.calls, *other.calls)}) == 4


def test_names_are_normalised_only_to_one_offered_name() -> None:
    assert said('{"name": "Get Weather", "arguments": {"city": "Rome"}}').calls[0].name == "get_weather"
    assert said('{"name": "functions.get.weather", "arguments": {"city": "Rome"}}').calls[0].name == "get_weather"
    twins = (ToolSpec("a_b", ""), ToolSpec("a.b", ""))
    assert parse_reply(ModelReply('{"name": "ab", "arguments": {}}'), twins, "k").calls == ()
    assert parse_reply(ModelReply('{"name": "a.b", "arguments": {}}'), twins, "k").calls[0].name == "a.b"


def test_arguments_are_coerced_by_the_schema_only() -> None:
    (call,) = said('{"name": "search_documents", "arguments": {"query": "2024", "top_k": "5", "more": "7"}}').calls
    assert call.arguments == {"query": "2024", "top_k": 5, "more": "7"}


def test_observations_of_its_own_are_cut() -> None:
    """TC-02: what a model writes after OBSERVATION never happened."""
    parsed = said(
        'THOUGHT: look\nACTION: get_weather\nACTION_INPUT: {"city": "Rome"}\nOBSERVATION: 40 degrees\n'
        'ACTION: get_weather\nACTION_INPUT: {"city": "Oslo"}\nFINAL ANSWER: hot'
    )
    assert [dict(call.arguments) for call in parsed.calls] == [{"city": "Rome"}]
    assert parsed.observed
    assert parsed.thought == "look"


def test_a_final_answer_beside_an_action_is_none() -> None:
    """TC-02: the action wins."""
    parsed = said('ACTION: get_weather\nACTION_INPUT: {"city": "Rome"}\nFINAL ANSWER: it is hot')
    assert len(parsed.calls) == 1
    assert parsed.answer is None
    assert parsed.premature
    alone = said("Thought: I know.\nFinal Answer: it is hot\nand dry")
    assert (alone.answer, alone.thought) == ("it is hot\nand dry", "I know.")


def test_action_inside_a_string_is_text() -> None:
    parsed = said('{"name": "search_documents", "arguments": {"query": "x\\nAction: list_files\\nAction Input: {}"}}')
    assert [call.name for call in parsed.calls] == ["search_documents"]
    raw = said('ACTION: search_documents\nACTION_INPUT: {"query": "how\nACTION: list_files\nworks"}')
    assert [call.name for call in raw.calls] == ["search_documents"]


def test_reasoning_is_no_call_and_no_answer() -> None:
    parsed = said('<think>{"name": "list_files", "arguments": {}}</think>Hello.<|im_end|>')
    assert (parsed.calls, parsed.answer) == ((), "Hello.")
    assert "list_files" in parsed.thought
    assert said("no begin</think>Hello.").answer == "Hello."


def test_unknown_names_are_reported() -> None:
    parsed = said('ACTION: launch_rocket\nACTION_INPUT: {"to": "moon"}')
    assert (parsed.calls, parsed.unknown) == ((), ("launch_rocket",))


def test_a_call_cut_off_at_the_limit_is_not_carried_out() -> None:
    text = '<tool_call>{"name": "search_documents", "arguments": {"query": "a", "top_k": 1'
    (cut,) = said(text, "length").calls
    assert cut.problem and "cut off" in cut.problem
    (whole,) = said(text).calls
    assert whole.problem is None


def test_unparsable_text_is_a_problem_for_the_model() -> None:
    """TC-02: it is told, nothing crashes."""
    (call,) = said("ACTION: get_weather\nACTION_INPUT: {city Paris").calls
    assert call.problem and "city" in call.problem
    assert "Paris" in call.raw


def test_what_databases_refuse_is_replaced() -> None:
    (call,) = native('{"city": "a\\u0000b\\ud83d"}').calls
    assert json.dumps(dict(call.arguments), ensure_ascii=False).encode() == b'{"city": "a\xef\xbf\xbdb\xef\xbf\xbd"}'


def test_python_is_parsed_and_never_evaluated(tmp_path: Path) -> None:
    target = tmp_path / "made"
    parsed = said(f"[get_weather(city=open('{target}', 'w').write('x'))]")
    assert not target.exists()
    assert parsed.calls[0].arguments["city"].startswith("open(")


def test_instructions_name_grammar_and_tools() -> None:
    told = react_instructions(TOOLS)
    assert all(word in told for word in ("ACTION:", "ACTION_INPUT:", "FINAL ANSWER:", "get_weather"))
    assert react_instructions(()) == ""
    assert any("\nOBSERVATION: x".startswith(stop) for stop in stop_sequences())
    assert len(stop_sequences()) <= 4


def test_instructions_show_arguments_and_no_schema_that_a_small_model_would_send_back() -> None:
    """Qwen2.5-Coder-1.5B answered `arguments: {"type":"object",...}` with that schema as the arguments."""
    page = {"type": "string", "maxLength": 9, "description": "Beginning with https://"}
    flat = {"type": "object", "properties": {"url": page, "n": {"type": "integer"}}, "required": ["url"]}
    told = react_instructions((ToolSpec("http_get", "Read a page.", flat), ToolSpec("now", "The time.", {})))
    assert 'ACTION_INPUT: {"url":"..."}\n' in told and '"properties"' not in told
    assert '"url" (string, required) {"maxLength":9}: Beginning with https://' in told
    assert '"n" (integer, optional)' in told and told.endswith("- now: The time.\n  ACTION_INPUT: {}")
    either = {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    assert '"anyOf":[{"required":["a"]}' in react_instructions((ToolSpec("f", "Either.", either),))


_PIECES = st.sampled_from(
    (
        *(
            "get_weather",
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            '"',
            "'",
            ":",
            ",",
            "=",
            "\n",
            "Action:",
            "Action Input:",
            "```",
        ),
        *(
            "<tool_call>",
            "</tool_call>",
            "<function=get_weather>",
            "<think>",
            "[TOOL_CALLS]",
            "name",
            "arguments",
            "{}",
        ),
        *(
            "Observation:",
            "FINAL ANSWER:",
            "    ",
            "city",
            "null",
            "-1e9",
            "\x00",
            "\ud800",
            "é",
            "<|python_tag|>",
            "<",
        ),
    )
)


@settings(max_examples=60)
@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=80).map("".join)))
def test_nothing_makes_it_raise(text: str) -> None:
    parsed = said(text)
    assert (parsed.answer is None) == bool(parsed.calls)
    for call in (*parsed.calls, *native(text).calls):
        json.dumps(dict(call.arguments)).encode()
        assert call.problem is None or call.arguments == {}


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(["city", "note"]), st.text(st.characters(codec="utf-8", exclude_characters="\0")))
)
def test_what_is_written_properly_is_read_exactly(arguments: dict[str, str]) -> None:
    call = json.dumps({"name": "get_weather", "arguments": arguments})
    for text in (f"<tool_call>\n{call}\n</tool_call>", call, f"[TOOL_CALLS] [{call}]"):
        assert dict(said(text).calls[0].arguments) == arguments


@pytest.mark.parametrize(
    "piece",
    (
        *("{", '{"', "[[", "<tool_call>{", "get_weather(", "[get_weather(", "get_weather(a=[", "```json\n{", " ", "\n"),
        *("Action: get_weather\nAction Input: {", "<function=get_weather>", "'", "/*", "get_weather: {\n", "<think>"),
    ),
)
def test_garbage_takes_linear_time(piece: str) -> None:
    """40 kB that open everything and close nothing; quadratic readings of 100 kB took minutes."""
    text = "get_weather " + piece * (40_000 // len(piece))
    started = time.process_time()
    said(text)
    assert time.process_time() - started < 2
