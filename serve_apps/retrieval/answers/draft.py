"""A model's answer while it is being written: its words as they come, without evidence, before anything is checked."""

import re
from collections.abc import Callable

from serve_apps.retrieval.answers.generate import LONGEST, NOTHING

ShowDraft = Callable[[str], None]  # takes what comes next; it must not block

LONGEST_MARK = 1_200  # characters of evidence in brackets; what is longer is none
_REASONING = re.compile(r"\s*<(think|thinking|thought|reasoning|analysis)>", re.IGNORECASE)
_REASONING_BEGINS = ("<think>", "<thinking>", "<thought>", "<reasoning>", "<analysis>")
_ADDRESS = re.compile(r"://\S*")  # nothing that a reader's program could fetch: nobody has checked who wrote it
_HELD = re.compile(r"(?::/?|://\S*| +)\Z")  # may be the beginning of an address, or stands before evidence


class DraftText:
    """Takes the deltas of a reply and shows what a reader may see of them at once.

    Left out are reasoning, evidence in brackets, addresses, and the sentence by which a model says that the sources
    hold no answer. What is shown is a draft: the checked answer takes its place.
    """

    def __init__(self, show: ShowDraft) -> None:
        self._show, self._raw, self._begun, self._shown = show, "", False, 0

    def feed(self, delta: str) -> None:
        """The next delta of the reply, of any length."""
        self._raw += delta
        if not self._begun and not self._begin_text():
            return
        text = self._take_text()
        if text and self._shown < LONGEST:
            self._shown += len(text)
            self._show(text)

    def _begin_text(self) -> bool:
        """True once the reply's first words are its answer: its reasoning is over, and they do not say there is none.

        A reply without an end to its reasoning, or that holds no answer, never begins.
        """
        while opened := _REASONING.match(self._raw):
            end = self._raw.lower().find(f"</{opened[1].lower()}>", opened.end())
            if end < 0:
                return False
            self._raw = self._raw[end + len(opened[1]) + 3 :]
        start = self._raw.strip()
        if not start or NOTHING.startswith(start) or start.startswith(NOTHING):
            return False
        if any(begin.startswith(start.lower()) for begin in _REASONING_BEGINS):
            return False
        self._raw, self._begun = self._raw.lstrip(), True
        return True

    def _take_text(self) -> str:
        """Text up to where something may follow that is not shown; the rest waits for the next delta."""
        taken = list[str]()
        while (opened := self._raw.find("[")) >= 0:
            closed = self._raw.find("]", opened)
            if closed < 0 and len(self._raw) - opened <= LONGEST_MARK:
                taken.append(self._raw[:opened].rstrip(" "))
                self._raw = self._raw[len(self._raw[:opened].rstrip(" ")) :]
                return _ADDRESS.sub("", "".join(taken))
            taken.append(self._raw[:opened].rstrip(" "))
            self._raw = self._raw[closed + 1 if closed >= 0 else opened + 1 :]
        held = _HELD.search(self._raw)
        end = held.start() if held else len(self._raw)
        taken.append(self._raw[:end])
        self._raw = self._raw[end:]
        return _ADDRESS.sub("", "".join(taken))
