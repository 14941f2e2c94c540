"""JSON in what a model wrote is read exactly, found among prose, or mended where one reading of it is plausible."""

import pytest

from cluster.models.chat.openai_requests import as_object
from cluster.models.reply_json import UnreadableValue, decode_json, decode_strict, find_json_values, strip_fence


@pytest.mark.parametrize(
    "text",
    (
        '{"weight": 5 kg}',
        '{"amount": 1,000}',
        '{"day": 2024-01-02}',
        '{"a": "b", c}',
        '{"a": [1, 2}',
        '{"a": }',
        '{"to": "anna", "text": "Half a sen',
    ),
)
def test_tc_01_what_has_not_one_plausible_reading_is_refused(text: str) -> None:
    """TC-01: a call with 5 for 5 kg would be carried out; the model is told instead, and writes it again."""
    with pytest.raises(UnreadableValue):
        decode_json(text)


def test_tc_01_a_quote_inside_of_a_string_ends_nothing() -> None:
    assert decode_json('{"a": "x" "y"}').value == {"a": 'x" "y'}
    assert decode_json('{"cmd": "echo "done""}').value == {"cmd": 'echo "done"'}


@pytest.mark.parametrize("text", ("", "{} x", '{"a": NaN}', '{"a": 1e999}', "{'a': 1}", "[" * 100_000))
def test_exact_json_is_nothing_else(text: str) -> None:
    with pytest.raises(UnreadableValue):
        decode_strict(text)
    assert as_object(text) == {"unparsed": text}


def test_values_are_found_among_prose_and_nested_ones_are_part_of_theirs() -> None:
    text = 'Sure {really}: {"a": {"b": 1}}, then [2] and {"c": 3}.'
    assert list(find_json_values(text, 1_000)) == [{"a": {"b": 1}}, [2], {"c": 3}]
    assert list(find_json_values(text, 1_000, "{")) == [{"a": {"b": 1}}, {"c": 3}]
    assert list(find_json_values(text, 1_000, "{", tries=1)) == [], "the first bracket opens no JSON"
    assert list(find_json_values(text, 10)) == [], "a text that is too long is not read"


def test_a_code_block_is_read_without_its_fence_also_where_it_was_cut_off() -> None:
    assert strip_fence("Here:\n```json\n{}\n```\nBye") == "{}\n"
    assert strip_fence("```\n[1, 2") == "[1, 2" and strip_fence("{}") == "{}"
