"""A model's answer while it is being written: its words as they come, without evidence, before anything is checked."""

import re
from collections.abc import Callable

from serve_apps.retrieval.answers.generate import LONGEST, NOTHING

ShowDraft = Callable[[str], None]  # takes what comes next; it must not block

LONGEST_MARK = 1_200  # characters of evidence in brackets; what is longer is none
LONGEST_HELD = 2_000  # characters of an address, or of blanks, that are waited for; the rest of them is dropped
_NAMES = ("think", "thinking", "thought", "reasoning", "analysis")
_REASONING = re.compile(rf"<({'|'.join(_NAMES)})>", re.IGNORECASE)
_OPENS = tuple(f"<{name}>" for name in _NAMES)
_LEADS = " \t\r\n*_#>-"  # how a line is set, before its first word
# Nothing that a reader's program could fetch: nobody has checked who wrote it.
_ADDRESS = re.compile(r"//\S*|www\.\S*|mailto:\S*", re.IGNORECASE)
_ADDRESS_BEGINS = ("//", "www.", "mailto:")


class DraftText:
    """Takes the deltas of a reply and shows what a reader may see of them at once.

    Left out are reasoning, evidence in brackets, addresses, and the sentence by which a model says that the sources
    hold no answer. What is shown is a draft: the checked answer takes its place.
    """

    def __init__(self, show: ShowDraft) -> None:
        self._show, self._raw, self._shown = show, "", 0
        self._ends = ""  # the tag that ends the reasoning which has begun; empty outside of it
        self._begun = False  # a word of the answer is known to be one
        self._last = " "  # character that was shown last

    def feed(self, delta: str) -> None:
        """The next delta of the reply, of any length."""
        if self._shown >= LONGEST:
            return
        self._raw += delta
        taken = list[str]()
        while self._raw and self._take_part(taken):
            pass
        if text := "".join(taken):
            self._shown, self._last = self._shown + len(text), text[-1]
            self._show(text)

    def _take_part(self, taken: list[str]) -> bool:
        """Take what comes before the next thing that is not shown; False where more has to come first."""
        if self._ends:
            return self._skip_reasoning()
        if not self._begun and not self._begin_answer():
            return False
        opened = self._raw.find("[")
        tag = _REASONING.search(self._raw)
        if tag and (opened < 0 or tag.start() < opened):
            taken.append(_ADDRESS.sub("", self._raw[: tag.start()]))
            self._raw, self._ends = self._raw[tag.end() :], f"</{tag[1].lower()}>"
            return True
        if opened >= 0:
            return self._skip_mark(opened, taken)
        end = self._shown_end()
        taken.append(_ADDRESS.sub("", self._raw[:end]))
        self._raw = self._raw[end:][:LONGEST_HELD]
        return False

    def _skip_reasoning(self) -> bool:
        """Go on behind the reasoning; of one that goes on only what may be the beginning of its end is kept."""
        end = self._raw.lower().find(self._ends)
        if end < 0:
            self._raw = self._raw[-len(self._ends) :]
            return False
        self._raw, self._ends = self._raw[end + len(self._ends) :], ""
        return True

    def _begin_answer(self) -> bool:
        """True once the reply's first words are its answer: neither reasoning nor that there is none.

        A reply that says so never begins.
        """
        start = self._raw.lstrip(_LEADS)
        if tag := _REASONING.match(start):
            self._raw, self._ends = start[tag.end() :], f"</{tag[1].lower()}>"
            return self._skip_reasoning() and self._begin_answer()
        if not start or NOTHING.startswith(start) or start.startswith(NOTHING) or _may_open(start):
            self._raw = self._raw[: LONGEST_HELD + len(NOTHING)]
            return False
        self._raw, self._begun = self._raw.lstrip(), True
        return True

    def _skip_mark(self, opened: int, taken: list[str]) -> bool:
        """Show what stands before a bracket, and go on behind it; it is waited for where it is not closed."""
        before = self._raw[:opened].rstrip(" ")
        taken.append(_ADDRESS.sub("", before))
        closed = self._raw.find("]", opened)
        if closed < 0 and len(self._raw) - opened <= LONGEST_MARK:
            self._raw = self._raw[len(before) :]
            return False
        self._raw = self._raw[closed + 1 if closed >= 0 else opened + 1 :]
        return True

    def _shown_end(self) -> int:
        """End of what can be shown: before blanks that evidence may follow, an address, or half of a tag."""
        end = len(self._raw.rstrip(" "))
        token = max(self._raw.rfind(blank, 0, end) for blank in " \n\t") + 1
        word = self._raw[token:end].lower()
        whole = token > 0 or self._last.isspace()  # the word has not begun in what was shown
        held = [word.find(begin) for begin in _ADDRESS_BEGINS if begin in word]
        held += [len(word) - 1] if word.endswith("/") else []
        held += [0 for begin in _ADDRESS_BEGINS if whole and word and begin.startswith(word)]
        held += [at for at in [word.rfind("<")] if at >= 0 and _may_open(word[at:])]
        return token + min(held) if held else end


def _may_open(text: str) -> bool:
    """True where a tag that begins reasoning may begin with this text."""
    return any(tag.startswith(text.lower()) for tag in _OPENS)
