"""Placeholders for personal data in JSON: `[EMAIL 1]` for a value, the same one wherever the value stands in a run."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import quote, quote_plus

LITERAL = "text"  # kind of a text that only looks like a placeholder
_LABEL = re.compile(r"\[[A-Z_]{1,20} \d{1,9}\]")
_LEAST = 4  # characters of a value that is looked for where no rule finds it; shorter ones stand in other words
_BIG = 10**8  # numbers below have too few digits for any kind
_FEW = 32  # forms: so many are looked for one by one; more of them by their first characters
_LONG = 8  # characters of a value that is looked for inside words, too: in a URL `%20` may stand before it
_GROUPED = re.compile(r"[ ./-]")
_SEPARATORS = re.compile(r"[_\W]+")


class FoundValue(Protocol):
    """A find of personal data."""

    @property
    def kind(self) -> str:
        """Its kind; the name of its placeholder."""

    @property
    def start(self) -> int:
        """First character."""

    @property
    def end(self) -> int:
        """The one after the last."""


FindValues = Callable[[str], Iterable[FoundValue]]


class PlaceholderMap:
    """The placeholders of one run. `restore` is the inverse of `hide`, whatever the texts hold.

    Attributes:
        fresh: those that were made since, and what stands for each: a text or, where it stood as one, a number.
    """

    def __init__(self, find: FindValues, known: Mapping[str, str | int]) -> None:
        """`known`: those that the run has already."""
        self.fresh: dict[str, str | int] = {}
        self._find = find
        self._originals: dict[str, str | int] = {}
        self._labels: dict[tuple[type, str | int], str] = {}
        self._forms: dict[str, str] = {}  # texts that are looked for -> their kind
        self._lengths: dict[str, list[int]] = {}  # first characters of forms -> how long such forms are
        self._counts = Counter(_kind_of(label) for label in known)
        for label, value in known.items():
            self._know(label, value)

    def hide(self, value: Any, name: str = "") -> Any:
        """The value with placeholders; `name` is the field that it is in, which may say what it is."""
        known = len(self._forms)
        hidden = self._hide(value, name)
        # What is known now may stand in another form in what was looked through before.
        return hidden if len(self._forms) == known else self._hide(value, name)

    def _hide(self, value: Any, name: str) -> Any:
        if isinstance(value, str):
            return self._hide_text(value, name)
        if isinstance(value, int) and not isinstance(value, bool):
            whole = abs(value) >= _BIG and self._spans(str(value), name)
            return self._label(value, str(whole[0][2])) if whole else value
        if isinstance(value, Mapping):
            return {self._hide_text(key, ""): self._hide(inner, key) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._hide(inner, name) for inner in value]
        return value

    def restore(self, value: Any) -> Any:
        """The value as it was."""
        if isinstance(value, str):
            original = self._originals.get(value)
            return original if original is not None else self._restore_text(value)
        if isinstance(value, Mapping):
            return {self._restore_text(key): self.restore(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.restore(inner) for inner in value]
        return value

    def _restore_text(self, text: str) -> str:
        return _LABEL.sub(lambda found: str(self._originals.get(found[0], found[0])), text) if "[" in text else text

    def _hide_text(self, text: str, name: str) -> str:
        pieces, at = [], 0
        for start, end, kind in self._spans(text, name):
            pieces += [text[at:start], self._label(text[start:end], kind)]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    def _spans(self, text: str, name: str) -> list[tuple[int, int, str]]:
        """What is hidden of a text, in order; what overlaps is hidden as one."""
        before = _SEPARATORS.sub(" ", name) + ": " if name else ""
        found = [(one.start - len(before), one.end - len(before), str(one.kind)) for one in self._find(before + text)]
        found = [one for one in found if one[0] >= 0]
        if "[" in text:
            found += [(*one.span(), LITERAL) for one in _LABEL.finditer(text)]
        found += self._known_spans(text)
        merged: list[tuple[int, int, str]] = []
        for start, end, kind in sorted(found):
            if merged and start < merged[-1][1]:
                last = merged[-1]
                longer = kind if end - start > last[1] - last[0] else last[2]
                merged[-1] = (last[0], max(last[1], end), longer)
            else:
                merged.append((start, end, kind))
        return merged

    def _label(self, original: str | int, kind: str) -> str:
        known = self._labels.get((type(original), original))
        if known is not None:
            return known
        name = kind.upper()
        self._counts[name] += 1
        label = f"[{name} {self._counts[name]}]"
        self.fresh[label] = original
        self._know(label, original)
        return label

    def _known_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where values stand that are known by now: without the words around it a number proves nothing."""
        if len(self._forms) > _FEW:
            yield from self._indexed_spans(text)
            return
        for form, kind in self._forms.items():
            at = text.find(form)
            while at >= 0:
                end = at + len(form)
                if _stands_alone(text, at, end):
                    yield at, end, kind
                at = text.find(form, end)

    def _indexed_spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        """As above in one walk over the text: a list of a thousand people is a thousand texts and as many forms."""
        for at in range(len(text) - _LEAST + 1):
            for length in self._lengths.get(text[at : at + _LEAST], ()):
                end = at + length
                kind = self._forms.get(text[at:end])
                if kind is not None and _stands_alone(text, at, end):
                    yield at, end, kind

    def _know(self, label: str, value: str | int) -> None:
        self._originals[label] = value
        self._labels[type(value), value] = label
        if not isinstance(value, str):
            return
        for form in _value_forms(value):
            if len(form) >= _LEAST:
                self._forms[form] = _kind_of(label).lower()
                lengths = self._lengths.setdefault(form[:_LEAST], [])
                if len(form) not in lengths:
                    lengths.append(len(form))


def _value_forms(value: str) -> set[str]:
    """How a value may be written elsewhere in the run: in a URL, or a number without what separates its groups."""
    bare = _GROUPED.sub("", value)
    return {value, quote(value), quote_plus(value), bare if bare.isdecimal() else value}


def placeholders_in(value: Any) -> set[str]:
    """What looks like a placeholder anywhere in a JSON value."""
    return set(_LABEL.findall(json.dumps(value, ensure_ascii=False)))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """What is short is looked for as a word alone."""
    return end - start >= _LONG or not (_is_word(text[start - 1 : start]) or _is_word(text[end : end + 1]))


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _kind_of(label: str) -> str:
    return label[1:].rpartition(" ")[0]
