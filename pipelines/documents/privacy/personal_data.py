"""Personal data and secrets in text: found by the rules, and masked."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from pipelines.documents.privacy.detection_rules import RULES
from pipelines.documents.privacy.folded_text import fold_text
from pipelines.documents.privacy.kinds import PersonalDataMatch

ROUNDS: Final = 8  # of masking that a text of people needs at most; what needs more was made to need them
# So many digits with no more than four other characters between each two.
_CROWDS = {count: re.compile(rf"\d(?:\D{{0,4}}\d){{{count - 1}}}") for count in {rule.digits for rule in RULES} - {0}}


def find_personal_data(text: str) -> list[PersonalDataMatch]:
    """Everything found, in order and without overlaps."""
    folded, places = fold_text(text)
    found = _find_folded(folded)
    if places is None:
        return found
    return [replace(one, start=places[one.start], end=places[one.end - 1] + 1) for one in found]


def _find_folded(text: str) -> list[PersonalDataMatch]:
    found: list[PersonalDataMatch] = []
    taken = bytearray(len(text))  # 1 where a find stands: looking there costs the same however many were found
    lower = text.lower()
    crowded = {0} | {count for count, pattern in _CROWDS.items() if pattern.search(text)}
    for rule in RULES:
        if rule.digits not in crowded or (rule.hints and not any(hint in lower for hint in rule.hints)):
            continue
        for one in rule.find_in(text):
            if taken.find(1, one.start, one.end) < 0:
                found.append(one)
                taken[one.start : one.end] = b"\1" * (one.end - one.start)
    return sorted(found, key=lambda one: one.start)


def mask_personal_data(text: str) -> tuple[str, list[PersonalDataMatch]]:
    """The text with `[email]` and so on in place of what was found, and what that was.

    A mask can bring two neighbours together that make a new find, so it goes on until nothing is found; each round
    takes characters of a find away, so it ends.
    """
    every: list[PersonalDataMatch] = []
    turn = 0
    while found := widened(find_personal_data(text), turn, len(text)):
        every.extend(found)
        text = "".join(_masked_pieces(text, found))
        turn += 1
    return text, every


def widened(found: list[PersonalDataMatch], turn: int, length: int) -> list[PersonalDataMatch]:
    """What a round of masking takes, the first is 0: after some it takes more around each find, and twice as much
    with each further one. A text that is made to give one find a round costs twenty rounds, not one for each find.
    """
    reach = 2 ** (turn - ROUNDS) if turn >= ROUNDS else 0
    if not reach:
        return found
    wide: list[PersonalDataMatch] = []
    for one in found:
        start, end = max(0, one.start - reach), min(length, one.end + reach)
        if wide and start <= wide[-1].end:
            wide[-1] = replace(wide[-1], end=max(end, wide[-1].end))
        else:
            wide.append(replace(one, start=start, end=end))
    return wide


def _masked_pieces(text: str, found: list[PersonalDataMatch]) -> Iterator[str]:
    yield text[: found[0].start]
    for one, following in pairwise([*found, None]):
        assert one is not None
        yield f"[{one.kind}]"
        yield text[one.end : following.start if following else len(text)]
