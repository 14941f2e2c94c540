"""Personal data and secrets in text: found by the rules, and masked."""

import re
from collections.abc import Iterator
from itertools import pairwise

from pipelines.documents.privacy.detection_rules import RULES
from pipelines.documents.privacy.kinds import PersonalDataMatch

# So many digits with no more than four other characters between each two.
_CROWDS = {count: re.compile(rf"\d(?:\D{{0,4}}\d){{{count - 1}}}") for count in {rule.digits for rule in RULES} - {0}}


def find_personal_data(text: str) -> list[PersonalDataMatch]:
    """Everything found, in order and without overlaps."""
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
    while found := find_personal_data(text):
        every.extend(found)
        text = "".join(_masked_pieces(text, found))
    return text, every


def _masked_pieces(text: str, found: list[PersonalDataMatch]) -> Iterator[str]:
    yield text[: found[0].start]
    for one, following in pairwise([*found, None]):
        assert one is not None
        yield f"[{one.kind}]"
        yield text[one.end : following.start if following else len(text)]
