"""Stream filter: releases no text of a reply that may turn out to be a call, a lie or a wrong quote."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from serve_apps.agents.turn.quotes import QuoteChecker

LEAST = 10  # characters of a batch ...
LONGEST_WAIT = 0.05  # ... or seconds since the last one
LONGEST_UNIT = 400  # characters of a sentence that are waited for
LONGEST_MARK = 1_200  # characters of a citation mark that are waited for

_TOKENS = re.compile(
    r"<\|[\w.▁-]{1,40}\|>|<｜[^｜<>]{1,40}｜>|</?s>|<(?:start|end)_of_turn>|<(?:eos|bos|pad)>|\[/?INST\]", re.IGNORECASE
)
_TORN = re.compile(r"(?:<[^<>\n]{0,40}|\[/?(?:I(?:N(?:ST?)?)?)?)\Z", re.IGNORECASE)
_THINKING = ("think", "thinking", "reasoning", "thought")
_THINKS = re.compile(rf"\s*<({'|'.join(_THINKING)})>", re.IGNORECASE)
# What a call begins with, at the beginning of a sentence or a line ...
_OPENS = re.compile(r"\s*(?:[{\[<]|```[ \t]*(?:json|python|tool\w*|xml|yaml)?[ \t]*(?:\n|$))|\s*```\s*$", re.IGNORECASE)
# ... and anywhere.
_CALLS = re.compile(
    r"<\|(?!(?:im_end|eot_id|endoftext|end|end_of_text|eom_id)\|>)|</?\w*tool|<\w*function|\[TOOL|functools\["
    r"|\b(?:action|action[_ ]input|thought|observation|final[_ ]answer)\**\s*:",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’)\]*_]*(?=\s)|\n")
_MARK_OPENS = re.compile(r"\[\s*\d{1,3}\s*:")
_MARK_ENDS = re.compile(r"[\"“”'‘’]\s*\]")
_MARK_MAY_COME = re.compile(r"(?:\[\s*\d{0,3}\s*)?")
_BARE_MARKS = re.compile(r"(?:[ \t]*\[\d{1,3}\])+")
_FENCE_OPENS = re.compile(r"\s*```[^\n]*\n")
_FENCE_ENDS = re.compile(r"(?:^|\n)[ \t]*```[ \t]*(?=\n)")


class FilterState(StrEnum):
    """State of a reply's filter; `_STEPS` is its table of transitions.

    | state | next |
    |---|---|
    | opening: nothing is shown yet | itself in reasoning, else text |
    | text: unit after unit is shown | code where a unit may be a call, held where it is a false claim |
    | code: a unit that may be a call | text behind a closed block of code without one, held for anything else |
    | held: nothing more is shown before the reply is whole | |
    """

    OPENING = "opening"
    TEXT = "text"
    CODE = "code"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class StreamGuard:
    """Rules for the text that is held back.

    Attributes:
        everything: until the whole reply is known, as in ReAct.
        calls: what looks like a call, as tools are there. A block of code that was closed is put to `is_call`.
        is_call: whether a text holds a call.
        is_claim: whether a sentence claims or promises something that was not done; None where that is not watched.
    """

    everything: bool = False
    calls: bool = False
    is_call: Callable[[str], bool] = lambda text: False
    is_claim: Callable[[str], bool] | None = None


class StreamFilter:
    """One reply on its way to the reader.

    What may be released is a function of the text alone, not of how it was cut into deltas: so a recorded reply, which
    comes in one piece, ends in the same text, and pieces are always the beginning of that text.
    """

    def __init__(
        self,
        show: Callable[[str], None],
        clock: Callable[[], float],
        quotes: QuoteChecker,
        guard: StreamGuard,
        lead: str = "",
    ) -> None:
        """`show` takes pieces, `clock` gives seconds; `lead` is put before the first piece, to part it from a text."""
        self._show, self._clock, self._quotes, self._guard, self._lead = show, clock, quotes, guard, lead
        quotes.fenced = False  # an earlier text may have ended within its code
        self._cited = len(quotes.sources) > 0
        self._whole = self._cited or guard.calls or guard.is_claim is not None  # whole sentences only
        self._raw = ""  # not looked at, or held
        self._state = FilterState.HELD if guard.everything else FilterState.OPENING
        self._visible = ""  # what of the reply was released, before quotes were checked
        self._gap = ""  # white space that is only shown if something follows
        self._text = ""  # what was released
        self._batch, self._last = "", clock()

    def feed(self, text: str) -> None:
        """Take a delta and show what may be shown."""
        self._raw += text
        self._advance_text()
        if self._batch and (len(self._batch) >= LEAST or self._clock() - self._last >= LONGEST_WAIT):
            self._flush_batch()

    def settle(self) -> str:
        """End without the text that is held, as the reply asked for a call; everything that was released."""
        self._flush_batch()
        return self._text

    def finish(self, answer: str) -> str:
        """End with the answer that the parser read out of the reply; everything that was released."""
        rest = self._raw
        if not self._visible:
            rest = answer
        elif answer.startswith(self._visible):
            rest = answer[len(self._visible) :]
        self._raw = ""
        self._release_unit(rest)
        self._flush_batch()
        return self._text

    def _advance_text(self) -> None:
        while self._raw and (following := _STEPS[self._state](self)) is not None:
            self._state = following

    def _skip_reasoning(self) -> FilterState | None:
        """Reasoning that a model writes into its reply is never shown; None while it goes on, or may yet begin."""
        while opened := _THINKS.match(self._raw):
            end = self._raw.lower().find(f"</{opened[1].lower()}>", opened.end())
            if end < 0:
                return None
            self._raw = self._raw[end + len(opened[1]) + 3 :]
        begun = self._raw.strip().lower()
        return None if any(f"<{name}>".startswith(begun) for name in _THINKING) else FilterState.TEXT

    def _take_unit(self) -> FilterState | None:
        """Show the next unit; None while its end is not known."""
        end = self._unit_end() if self._whole else self._untorn_end()
        if not end:
            return None
        unit = self._raw[:end]
        if self._guard.calls and (_OPENS.match(unit) or _CALLS.search(unit)):
            return FilterState.CODE
        if self._guard.is_claim is not None and self._guard.is_claim(unit):
            return FilterState.HELD
        return self._release_until(end)

    def _take_block(self) -> FilterState | None:
        """Show a block of code that holds no call; None while it is not closed."""
        opened = _FENCE_OPENS.match(self._raw)
        closed = _FENCE_ENDS.search(self._raw, opened.end() - 1) if opened else None
        if opened and closed is None:
            return None
        if closed is None or self._guard.is_call(self._raw[: closed.end()]):
            return FilterState.HELD
        return self._release_until(closed.end())

    def _release_until(self, end: int) -> FilterState:
        unit, self._raw = self._raw[:end], self._raw[end:]
        self._release_unit(unit)
        return FilterState.TEXT if self._visible else FilterState.OPENING

    def _untorn_end(self) -> int:
        """End of the text without the first half of a template's token."""
        torn = _TORN.search(self._raw, max(0, len(self._raw) - 42))
        return torn.start() if torn else len(self._raw)

    def _unit_end(self) -> int:
        """End of the first sentence or line, its citation marks included; 0 while that cannot be known."""
        found = _ENDS.search(self._raw, 0, LONGEST_UNIT + 1)
        if found is not None:
            end = found.end()
        elif len(self._raw) > LONGEST_UNIT:
            end = self._raw.rfind(" ", 1, LONGEST_UNIT) + 1 or LONGEST_UNIT
        else:
            return 0
        return self._with_marks(end) if self._cited else end

    def _with_marks(self, end: int) -> int:
        """The end moved behind the marks that begin before it or follow it at once; 0 while one is not whole."""
        raw, at = self._raw, 0
        while (opened := _MARK_OPENS.search(raw, at)) and not raw[end : opened.start()].strip(" \t"):
            closed = _MARK_ENDS.search(raw, opened.end(), opened.start() + LONGEST_MARK)
            if closed is None and len(raw) < opened.start() + LONGEST_MARK:
                return 0
            at = opened.end() if closed is None else closed.end()
            end = max(end, at)
        if raw[end - 1] == "\n":
            return end
        if _MARK_MAY_COME.fullmatch(raw[end:].lstrip(" \t")):
            return 0
        bare = _BARE_MARKS.match(raw, end)
        return bare.end() if bare else end

    def _release_unit(self, unit: str) -> None:
        """Release a unit; white space at its end waits for what follows."""
        plain = _TOKENS.sub("", unit)
        if not self._visible:
            plain = plain.lstrip()
        self._visible += plain
        said = self._gap + self._quotes.checked(plain)
        body = said.rstrip()
        self._gap = said[len(body) :]
        if not body:
            return
        if not self._text:
            body = self._lead + body.lstrip()
        self._text += body
        self._batch += body

    def _flush_batch(self) -> None:
        if self._batch:
            self._show(self._batch)
            self._batch, self._last = "", self._clock()


_STEPS: Mapping[FilterState, Callable[[StreamFilter], FilterState | None]] = {
    FilterState.OPENING: StreamFilter._skip_reasoning,
    FilterState.TEXT: StreamFilter._take_unit,
    FilterState.CODE: StreamFilter._take_block,
    FilterState.HELD: lambda _: None,
}
"""What each state does with the raw text: the next state, or None to wait for more."""
