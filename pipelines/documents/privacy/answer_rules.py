"""Rules of what answers show of personal data: by kind, and by the classes of the documents that an answer rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from pipelines.documents.privacy.kinds import PersonalDataKind

UNKNOWN_CLASS: Final = "?"  # of a document at which nobody has looked yet: it may be of any


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """What is done with finds in answers.

    Attributes:
        action: `mark` counts them, `mask` takes them away.
        kinds: those it is about; empty for all.
        classes: only in an answer that rests on a document of one of these; empty for every answer.
    """

    action: str
    kinds: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def covers(self, kind: PersonalDataKind, classes: frozenset[str] | None) -> bool:
        """True if it is about a find; `classes` are those of the sources so far, None where nobody knows them yet."""
        if self.kinds and str(kind) not in self.kinds:
            return False
        return not self.classes or classes is None or not classes.isdisjoint((*self.classes, UNKNOWN_CLASS))


def rules_to_json(rules: Sequence[AnswerRule]) -> list[dict[str, Any]]:
    """As a turn keeps them, so that it is resumed and replayed under the rules that it began with."""
    return [asdict(rule) for rule in rules]


def rules_from_json(found: Sequence[Mapping[str, Any]]) -> tuple[AnswerRule, ...]:
    """The inverse."""
    return tuple(AnswerRule(one["action"], tuple(one["kinds"]), tuple(one["classes"])) for one in found)
