"""JSON in what a model wrote: exact, among prose, or mended where one reading of it is plausible."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_DEEPEST = 60
_SPACE = re.compile(r"(?:\s+|//[^\n]*(?=\n)|/\*(?:[^*]|\*(?!/))*\*/)*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][-+]?\d{1,3})?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$.\-]*")
_BARE = re.compile(r"[^\s,{}\[\]\"'()][^\n,{}\[\]\"]*")
_CLOSERS = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}
_CONSTANTS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NOTHINGS = frozenset({"null", "None", "undefined", "NULL"})
_FENCE = re.compile(r"```(?:json)?\s*(.*?)(?:```|\Z)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}


class UnreadableValue(ValueError):
    """No plausible reading."""

    def __init__(self, why: str, at: int = 0) -> None:
        """`at` is how far the text was read in vain."""
        super().__init__(why)
        self.at = at


@dataclass(frozen=True, slots=True)
class DecodedJson:
    """A value and where it ends; `closed` is False where the text ended before its brackets did."""

    value: Any
    end: int
    repaired: bool = False
    closed: bool = True


def _reject_constant(text: str) -> Any:
    raise UnreadableValue(text)


_STRICT = json.JSONDecoder(strict=False, parse_constant=_reject_constant)


def decode_strict(text: str) -> Any:
    """The value that the whole text is, as RFC 8259 has it; whatever it is can be written again.

    Raises UnreadableValue: it is not JSON, or holds NaN, an infinite number or brackets without end.
    """
    try:
        value = json.loads(text, parse_constant=_reject_constant)
        json.dumps(value, allow_nan=False)  # 1e999 is read, and cannot be written
    except (ValueError, RecursionError) as error:
        raise UnreadableValue(str(error)) from None
    return value


def find_json_values(text: str, longest: int, opening: str = "{[", tries: int = 8) -> Iterator[Any]:
    """JSON values among prose; a nested value is not looked for inside one that was read.

    Args:
        text: none are found in one of more than `longest` characters.
        longest: as above.
        opening: brackets at which a value may begin.
        tries: so many of them are looked at.
    """
    bracket, decoder, at = re.compile(f"[{re.escape(opening)}]"), json.JSONDecoder(), 0
    if len(text) > longest:
        return
    for _ in range(tries):
        if (found := bracket.search(text, at)) is None:
            return
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):  # not JSON, or brackets without end
            at = found.end()
            continue
        yield value


def strip_fence(text: str) -> str:
    """The inside of the first code block, which may lack its end; without one, the text."""
    fenced = _FENCE.search(text)
    return fenced[1] if fenced else text


def decode_json(text: str, start: int = 0) -> DecodedJson:
    """The value that begins at `start`, white space skipped; text behind it does not matter.

    Raises:
        UnreadableValue: it is not JSON and cannot be mended: single quotes, bare keys, trailing commas, Python's
            constants, comments, quotes inside of strings, and missing brackets at the very end can.
    """
    start = _skip_space(text, start)
    try:
        value, end = _STRICT.raw_decode(text, start)
    except (ValueError, RecursionError):
        reader = _Lenient(text)
        value, end = reader.value(start, 0)
        return DecodedJson(value, end, repaired=True, closed=reader.closed)
    return DecodedJson(value, end)


def decode_whole(text: str) -> DecodedJson:
    """The value that the whole text is. Raises UnreadableValue: as for `decode_json`, or something follows it."""
    decoded = decode_json(text)
    if text[decoded.end :].strip(" \t\r\n;,`}"):  # one brace too many is the commonest flaw
        raise UnreadableValue("text after the value")
    return decoded


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


class _Lenient:
    def __init__(self, text: str) -> None:
        self._text = text
        self.closed = True

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        text = self._text
        at = _skip_space(text, at)
        if at >= len(text) or depth > _DEEPEST:
            raise UnreadableValue("too deep, or nothing there", at)
        first = text[at]
        if first == "{":
            return self._read_object(at + 1, depth)
        if first == "[":
            return self._read_array(at + 1, depth)
        if first in _CLOSERS:
            return self._read_string(at)
        if number := _NUMBER.match(text, at):
            return json.loads(number[0]), number.end()
        bare = _BARE.match(text, at)
        if bare is None:
            raise UnreadableValue(first, at)
        word = bare[0].strip()
        if word in _NOTHINGS:
            return None, at + len(word)
        return _CONSTANTS.get(word, word), at + len(bare[0].rstrip())

    def _read_object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        text, result = self._text, dict[str, Any]()
        while True:
            at = self._skip_commas(at)
            if self._at_end(at):
                return self._require_nonempty(result), at
            if text[at] == "}":
                return result, at + 1
            key, at = self._read_key(at)
            at = _skip_space(text, at)
            if text[at : at + 2] == "=>":
                at += 2
            elif text[at : at + 1] in (":", "="):
                at += 1
            else:
                raise UnreadableValue("a key without a value", at)
            result[key], at = self.value(at, depth + 1)
            self._check_separator(at, "}")

    def _read_array(self, at: int, depth: int) -> tuple[list[Any], int]:
        text, result = self._text, list[Any]()
        while True:
            at = self._skip_commas(at)
            if self._at_end(at):
                if not result:
                    raise UnreadableValue("nothing but a bracket", at)
                return result, at
            if text[at] == "]":
                return result, at + 1
            item, at = self.value(at, depth + 1)
            result.append(item)
            self._check_separator(at, "]")

    def _skip_commas(self, at: int) -> int:
        at = _skip_space(self._text, at)
        while self._text[at : at + 1] in (",", ";"):
            at = _skip_space(self._text, at + 1)
        return at

    def _at_end(self, at: int) -> bool:
        """Nothing follows, or a marker that ends what the brackets should have."""
        if at >= len(self._text):
            self.closed = False
            return True
        return self._text.startswith(("</", "<|", "```", "[/"), at)

    def _check_separator(self, at: int, closer: str) -> None:
        following = _skip_space(self._text, at)
        if not self._at_end(following) and self._text[following] not in f",;{closer}\"'":
            raise UnreadableValue("no comma", following)

    def _read_key(self, at: int) -> tuple[str, int]:
        if self._text[at] in _CLOSERS:
            return self._read_string(at)
        word = _WORD.match(self._text, at)
        if word is None:
            raise UnreadableValue("no key", at)
        return word[0], word.end()

    @staticmethod
    def _require_nonempty(result: dict[str, Any]) -> dict[str, Any]:
        if not result:
            raise UnreadableValue("nothing but a brace")
        return result

    def _read_string(self, at: int) -> tuple[str, int]:
        text, quote = self._text, self._text[at]
        if quote in "\"'" and text[at : at + 3] == quote * 3:
            end = text.find(quote * 3, at + 3)
            if end < 0:
                raise UnreadableValue("a string without an end", len(text))
            return text[at + 3 : end], end + 3
        closer, pieces, at = _CLOSERS[quote], list[str](), at + 1
        stops = re.compile(rf"[^{re.escape(closer)}\\]*")
        while True:
            run = stops.match(text, at)
            if run is None or run.end() >= len(text):
                raise UnreadableValue("a string without an end", len(text))
            pieces.append(run[0])
            at = run.end()
            if text[at] == "\\":
                piece, at = _decode_escape(text, at + 1)
                pieces.append(piece)
                continue
            following = _skip_space(text, at + 1)
            if following >= len(text) or text[following] in ",:;=}])":
                joined = "".join(pieces)  # two \\u escapes may be the halves of one character
                return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), at + 1
            pieces.append(text[at])  # a quote inside of the string that should have been escaped
            at += 1


def _decode_escape(text: str, at: int) -> tuple[str, int]:
    """The character that an escape at `at` stands for; unknown ones keep their backslash (paths, patterns)."""
    letter = text[at : at + 1]
    if letter == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", text[at + 1 : at + 5]):
        return chr(int(text[at + 1 : at + 5], 16)), at + 5
    if letter in _ESCAPES:
        return _ESCAPES[letter], at + 1
    return (letter, at + 1) if letter in "\"'\\/`" else ("\\" + letter, at + 1)
