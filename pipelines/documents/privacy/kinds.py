"""Kinds of personal data, where one stands in a text, and a rule that finds it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class PersonalDataKind(StrEnum):
    """Kind of personal data; its value is also the mask."""

    EMAIL = "email"
    PHONE = "phone"
    IBAN = "iban"
    CARD = "card"
    SSN = "ssn"
    NATIONAL_ID = "national_id"
    IP = "ip"
    PASSPORT = "passport"
    LICENSE = "license"
    NAME = "name"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class PersonalDataMatch:
    """Characters `start` to `end` of a text are of this kind."""

    kind: PersonalDataKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DetectionRule:
    """`pattern`'s group `it` is of the kind where what stands around it agrees, and where it proves itself.

    Attributes:
        holds: looks at the match with what is around it.
        proves: looks at the characters alone. Where they prove nothing they are tried without their last groups: in
            `4111 1111 1111 1111 12/27` the pattern takes a group too many.
        hints: lower-case pieces of which a text has one, or the pattern cannot match; looking for a plain piece costs a
            hundredth of the pattern.
        digits: how many digits that stand close together it wants at least.
    """

    kind: PersonalDataKind
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] = lambda match: True
    proves: Callable[[str], bool] = lambda text: True
    hints: tuple[str, ...] = ()
    digits: int = 0

    def find_in(self, text: str) -> Iterator[PersonalDataMatch]:
        """What the rule finds, from left to right."""
        at = 0
        while match := self.pattern.search(text, at):
            start, at = match.span("it")
            if not self.holds(match):
                continue
            found = text[start:at]
            while found and not self.proves(found):
                found = found[: max(found.rfind(" "), found.rfind("-"), 0)]
            if found:
                at = start + len(found)
                yield PersonalDataMatch(self.kind, start, at)


def text_before(match: re.Match[str], characters: int) -> str:
    """Up to so many characters in front of what was found."""
    start = match.start("it")
    return match.string[max(0, start - characters) : start]
