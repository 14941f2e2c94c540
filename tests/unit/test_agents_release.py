"""What a reader sees while a reply is written: the same text however it was cut, and nothing that is not sure."""

import random
from collections.abc import Callable

import pytest

from cluster.models.messages import ModelReply, ToolSpec
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.turn.knowledge import SourceList
from serve_apps.agents.turn.quotes import QuoteChecker
from serve_apps.agents.turn.stream_filter import LEAST, StreamFilter, StreamGuard
from tests.fakes.agents import Ticks

SPECS = (ToolSpec("note", "Writes.", {"type": "object", "properties": {"text": {"type": "string"}}}),)
PAGE = "The lease ends in May 2027. Rent is due on the first. Pets are welcome."


def is_call(text: str) -> bool:
    return bool(parse_reply(ModelReply(text), SPECS, "").calls)


def quotes(cited: bool) -> QuoteChecker:
    sources = SourceList()
    if cited:
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


GUARDS: dict[str, tuple[StreamGuard, bool]] = {
    "free": (StreamGuard(), False),
    "cited": (StreamGuard(), True),
    "tools": (StreamGuard(False, True, is_call, lambda text: "I have booked" in text), False),
    "both": (StreamGuard(False, True, is_call, None), True),
    "react": (StreamGuard(everything=True), False),
}
REPLIES = [
    "Hello there, this is a plain answer. It has two sentences.",
    "",
    " \n\n Leading blanks and trailing ones. \n\n",
    "<think>let me see. Is it?</think>\n\nYes. It is so.",
    "<think>never closed, so nothing of it is an answer",
    'It ends in May [1: "The lease ends in May 2027"]. Then rent [1: "Rent is due on the first."]. '
    '[1: "Pets are welcome"]',
    'Wrong [1: "this is not there at all"]. Open [1: "The lease ends',
    "List [1] and code a[1] = b[2][3], see [1][1] and [7].",
    'I\'ll look it up.\n```json\n{"name": "note", "arguments": {"text": "x"}}\n```\n',
    "Here:\n```python\nprint('hi. there')\n```\nThat prints. Done.",
    "Sure! I have booked it. Anything else?",
    "Ends with a token<|im_end|>",
    "<s>Hello</s> world <|eot_id|> again <x",
    "a < b and c > d. " * 30,
    "no end of sentence " * 80,
    "Thought: I need it\nAction: note\nAction Input: {}",
    "One.Two.Three. 3.14 is pi; e.g. this: and that…\nNext line\n\n- item one\n- item two\n",
    "[" * 50 + '[1: "' * 5,
    "日本語の文章です。次の文です。 End.",
    '{"a": 1}',
]


def parts(text: str, chance: random.Random) -> list[str]:
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(12))) if text else []
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def play(
    text: str, cut: list[str], guard: StreamGuard, cited: bool, end: Callable[[StreamFilter], str]
) -> tuple[str, list[str], QuoteChecker]:
    shown: list[str] = []
    checked = quotes(cited)
    release = StreamFilter(shown.append, Ticks(), checked, guard)
    for one in cut:
        release.feed(one)
    said = end(release)
    return said, shown, checked


@pytest.mark.parametrize("name", GUARDS)
@pytest.mark.parametrize("text", REPLIES)
def test_how_a_reply_is_cut_makes_no_difference(name: str, text: str) -> None:
    """EX-08: pieces are the beginning of the text that is recorded, whatever the deltas were (replay sees one)."""
    guard, cited = GUARDS[name]
    chance = random.Random(f"{name} {text}")
    answer = parse_reply(ModelReply(text), SPECS, "").answer or ""
    for end in (StreamFilter.settle, lambda release: release.finish(answer)):
        whole, _, known = play(text, [text], guard, cited, end)
        for _ in range(25):
            said, shown, checked = play(text, parts(text, chance), guard, cited, end)
            assert said == whole
            assert "".join(shown) == said
            assert checked.citations == known.citations


def test_text_comes_in_batches() -> None:
    """ST: ten characters, or what there is after 50 ms."""
    shown: list[str] = []
    ticks = Ticks()
    release = StreamFilter(shown.append, ticks, quotes(False), StreamGuard())
    for letter in "abcdefghijklmnopqrstuvwxyz":
        release.feed(letter)
    assert shown == ["abcdefghij", "klmnopqrst"] and len(shown[0]) == LEAST
    ticks.seconds += 0.06
    release.feed("!")
    assert shown[-1] == "uvwxyz!"
    release.feed("?")
    assert release.finish("abcdefghijklmnopqrstuvwxyz!?")[-2:] == "!?" and shown[-1] == "?"


def test_a_sentence_waits_for_its_quote() -> None:
    """EX-02: nothing of a sentence is shown before its citation is checked; the mark becomes the citation's number."""
    shown: list[str] = []
    release = StreamFilter(shown.append, Ticks(), quotes(True), StreamGuard())
    release.feed("First, this. The lease runs long")
    assert shown == ["First, this."]
    release.feed(' [1: "The lease ends in')
    release.feed(' May 2027"]')
    assert shown == ["First, this."]
    release.feed(". And")
    assert "".join(shown) == "First, this. The lease runs long [1]."


def test_what_may_be_a_call_is_held() -> None:
    """TC-02: a call in the text is never shown; what stands before it is."""
    guard, _ = GUARDS["tools"]
    for text in REPLIES[8], 'Well.\n<tool_call>{"name": "note"}</tool_call>', 'So. {"name": "note", "arguments": {}}\n':
        said, shown, _ = play(text, list(text), guard, False, StreamFilter.settle)
        assert "note" not in said and len(shown) <= 2 and said.endswith(".")


def test_code_that_is_no_call_is_shown_once_it_is_whole() -> None:
    """TC-02: a closed block is read, and goes on if it holds no call."""
    said, _, _ = play(REPLIES[9], list(REPLIES[9]), GUARDS["tools"][0], False, StreamFilter.settle)
    assert said == "Here:\n```python\nprint('hi. there')\n```\nThat prints."


def test_a_claim_is_held_until_the_turn_accepts_it() -> None:
    """TC-03: a sentence that claims what did not happen is not shown; the one before it is."""
    text = "Sure! I have booked it. Anything else?"
    said, _, _ = play(text, list(text), GUARDS["tools"][0], False, StreamFilter.settle)
    assert said == "Sure!"
    said, _, _ = play(text, list(text), GUARDS["tools"][0], False, lambda release: release.finish(text))
    assert said == text


@pytest.mark.parametrize(
    "token", ["<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "[/INST]", "<｜end▁of▁sentence｜>"]
)
@pytest.mark.parametrize("name", ["free", "tools", "cited"])
def test_tokens_of_templates_are_not_shown(token: str, name: str) -> None:
    """EX-08: raw model tokens are stripped, also when a delta ends in the middle of one."""
    guard, cited = GUARDS[name]
    text = f"A whole sentence.{token} Another one.{token}"
    said, shown, _ = play(text, list(text), guard, cited, lambda release: release.finish(text))
    assert said == "A whole sentence. Another one." and "<" not in "".join(shown)


def test_long_replies_are_read_in_linear_time() -> None:
    """EX-18: a megabyte in small deltas."""
    text = "word " * 40_000 + "\n" + "x" * 100_000
    said, _, _ = play(
        text,
        [text[at : at + 50] for at in range(0, len(text), 50)],
        GUARDS["both"][0],
        True,
        lambda release: release.finish(text),
    )
    assert said == text
