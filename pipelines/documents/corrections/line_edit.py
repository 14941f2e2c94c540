"""The edit of a line: what it does to the text, the words and every position of its page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from pipelines.documents.document import Box, EngineAttempt, Page, Word, bounding_box

HUMAN = "human"  # the engine that a corrected page has beside the one that read it
_TOKEN = re.compile(r"\S+")
_TABLE_SIGNS = re.compile(r"[|:-]+")

TokenGroup = tuple[bool, int, int, int, int]  # same, and [first, end) of the old and of the new tokens


@dataclass(frozen=True, slots=True)
class LineEdit:
    """`before` at `start` of a page's text becomes `after`; both are without white space around."""

    start: int
    before: str
    after: str
    # The person has looked at every word of the line; else at those that differ.
    whole: bool = True

    @property
    def end(self) -> int:
        """The offset after its last character, in the text before."""
        return self.start + len(self.before)

    @property
    def changes_text(self) -> bool:
        """False where somebody has looked at the line and found it right."""
        return self.before != self.after

    @property
    def shift(self) -> int:
        """By how much whatever stands behind it moves."""
        return len(self.after) - len(self.before)

    def apply_to_text(self, text: str) -> str:
        """The text of the page after it."""
        return text[: self.start] + self.after + text[self.end :]

    def map_start(self, position: int) -> int:
        """Where a span that began at `position` begins now: never within a word; nothing falls out between spans."""
        if position <= self.start or position >= self.end:
            return self._shifted(position)
        tokens, count = list(_TOKEN.finditer(self.after)), self._tokens_before(position)
        return self.start + (tokens[count].start() if count < len(tokens) else len(self.after))

    def map_end(self, position: int) -> int:
        """Where a span that ended at `position` ends now; what ended where another began still does."""
        if position <= self.start or position >= self.end:
            return self._shifted(position)
        tokens, count = list(_TOKEN.finditer(self.after)), self._tokens_before(position)
        return self.start + (tokens[count - 1].end() if count else 0)

    def touches(self, start: int, end: int) -> bool:
        """True if the characters [start, end) of the text before hold some of the line."""
        return start < self.end and self.start < end

    def _shifted(self, position: int) -> int:
        return position if position <= self.start else position + self.shift

    def _tokens_before(self, position: int) -> int:
        """How many words of the new line stand for those of the old one that begin before `position`."""
        old, new = _TOKEN.findall(self.before), _TOKEN.findall(self.after)
        index = sum(self.start + token.start() < position for token in _TOKEN.finditer(self.before))
        if index == 0:
            return 0
        for _, first, last, begin, stop in reversed(align_tokens(old, new)):
            if first < index <= last:
                return begin + round((index - first) * (stop - begin) / (last - first))
        return len(new)


def align_tokens(old: Sequence[str], new: Sequence[str]) -> list[TokenGroup]:
    """Runs of tokens that stayed and of such that others took the place of, in order; none has no old token.

    What was put in between goes with the token before it, or with the first one.
    """
    groups: list[TokenGroup] = []
    lead: tuple[int, int] | None = None  # new tokens before all old ones
    for tag, first, last, begin, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "insert":
            if lead is not None and tag == "equal":
                groups.append((False, first, first + 1, lead[0], begin + 1))
                first, begin = first + 1, begin + 1
            elif lead is not None:
                begin = lead[0]
            lead = None
            groups += [(tag == "equal", first, last, begin, stop)] if first < last else []
        elif not groups:
            lead = (begin, stop)
        else:
            same, before, until, one, other = groups.pop()
            if same and until - before > 1:
                groups.append((True, before, until - 1, one, other - 1))
                before, one = until - 1, other - 1
            groups.append((False, before, until, one, stop))
    return groups


def apply_edit(page: Page, edit: LineEdit) -> Page:
    """The page as it says after the edit: words that stayed keep their boxes, others share those of the old ones.

    Words that a person wrote or looked at have confidence 1.
    """
    words = sorted(page.words, key=lambda word: word.start)
    inside = [word for word in words if edit.start <= word.start < edit.end]
    before = [word for word in words if word.start < edit.start]
    behind = [replace(word, start=word.start + edit.shift) for word in words if word.start >= edit.end]
    made = (*before, *_edited_words(inside, edit), *behind)
    sure = page.confidence
    if sure is not None and made:
        sure = sum(word.confidence for word in made) / len(made)
    engines = page.engine.split("+")
    marked = HUMAN in engines
    return replace(
        page,
        text=edit.apply_to_text(page.text),
        words=made,
        confidence=sure,
        engine=page.engine if marked else f"{page.engine}+{HUMAN}",
        attempts=page.attempts if marked else (*page.attempts, EngineAttempt(HUMAN, 1.0, 0, True, "corrected")),
    )


def _edited_words(old: Sequence[Word], edit: LineEdit) -> Iterator[Word]:
    """The words of the new line; none where the old one had none, as nothing tells where they would stand."""
    if not old:
        return
    # Bars of a table are no words, and have no boxes.
    table = edit.before.startswith("|")
    tokens = [one for one in _TOKEN.finditer(edit.after) if not (table and _TABLE_SIGNS.fullmatch(one[0]))]
    texts = [token[0] for token in tokens]
    for same, first, last, begin, stop in align_tokens([word.text for word in old], texts):
        boxes = [word.box for word in old[first:last]]
        if not same and len(boxes) != stop - begin:
            boxes = share_width(texts[begin:stop], bounding_box(boxes))
        for n, (token, box) in enumerate(zip(tokens[begin:stop], boxes, strict=True)):
            sure = old[first + n].confidence if same and not edit.whole else 1.0
            yield Word(token[0], edit.start + token.start(), box, sure)


def share_width(texts: Sequence[str], box: Box) -> list[Box]:
    """A rectangle for each text beside the one before, with its share of the width by its characters."""
    letter = (box.x1 - box.x0) / max(1, sum(map(len, texts)) + len(texts) - 1)
    boxes, x = [], box.x0
    for text in texts:
        boxes.append(Box(x, box.y0, x + letter * len(text), box.y1))
        x += letter * (len(text) + 1)
    return boxes
