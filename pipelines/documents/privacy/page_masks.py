"""Personal data on pages: counted by kind, or masked where it stands, before a page is stored."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from cluster.basics.scope import Scope
from cluster.state.db.postgres import Transaction
from pipelines.documents.document import Page, Word
from pipelines.documents.privacy.kinds import PersonalDataMatch
from pipelines.documents.privacy.personal_data import find_personal_data, widened
from pipelines.documents.privacy.policy_rules import Action

COVER = "█"

# What is done with personal data in the documents of a workspace.
DocumentPolicy = Callable[[Transaction, Scope], Awaitable[Action]]


def mark_page(page: Page, action: Action) -> tuple[Page, Mapping[str, int] | None]:
    """The page as it is stored, and how many finds of each kind it has; None where nobody looked.

    A mask is as long as what it covers: words and boxes stay where they are.
    """
    if action == "none" or page.failure is not None:
        return page, None
    text, counts, turn = page.text, Counter[str](), 0
    # What is covered may bring two neighbours together that make a new find; each round covers more.
    while found := [one for one in find_personal_data(text) if set(text[one.start : one.end]) - {COVER}]:
        counts.update(str(one.kind) for one in found)
        if action == "mark":
            return page, dict(counts)
        text = _covered(text, widened(found, turn, len(text)))
        turn += 1
    if text == page.text:
        return page, {}
    words = tuple(_same_word(word, text) for word in page.words)
    return replace(page, text=text, words=words), dict(counts)


def _covered(text: str, found: list[PersonalDataMatch]) -> str:
    pieces, at = [], 0
    for one in found:
        label, length = f"[{one.kind}]", one.end - one.start
        pieces += [text[at : one.start], label.ljust(length, COVER) if len(label) <= length else COVER * length]
        at = one.end
    return "".join([*pieces, text[at:]])


def _same_word(word: Word, text: str) -> Word:
    return replace(word, text=text[word.start : word.start + len(word.text)])
