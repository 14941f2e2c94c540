"""Policies as data: references to standards, actions on personal data by place, classes of data and their rules."""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cluster.basics.errors import Invalid, InvalidSettings
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.kinds import PersonalDataKind

Place = Literal["documents", "memory", "journals", "traces", "answers", "search"]
Action = Literal["none", "mark", "mask"]
ACTIONS: Mapping[Place, tuple[Action, ...]] = {  # the weakest first
    "documents": ("none", "mark", "mask"),
    "memory": ("mask",),
    "journals": ("none", "mask"),
    "traces": ("mask",),
    "answers": ("none", "mark", "mask"),
    "search": ("none", "mask"),
}
SHIPPED = Path(str(files("configs"))) / "governance.yaml"
_Line = Annotated[str, Field(min_length=1, max_length=500)]
_Word = Annotated[str, Field(min_length=2, max_length=100)]


class UnknownReference(Invalid):
    """A policy names a standard that is not in the catalogue."""

    code = "unknown_reference"
    fix = "GET /api/data-governance/references lists them (aos governance references)."


class InvalidPolicy(Invalid):
    """A policy is not as policies are."""

    code = "invalid_policy"
    fix = "Compare it with configs/governance.yaml."


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StandardReference(_Checked):
    """A standard or law that a policy answers to."""

    id: _Word
    standard: _Line
    title: _Line
    description: _Line


class DataClass(_Checked):
    """A class of data; a document is of the class of the highest rank of which it meets a rule.

    Attributes:
        keywords: whole words of which the text has one.
        paths: patterns, as of a shell, of which the name of the file meets one.
        pii: kinds of personal data of which it has `least` finds together.
        access: a hint for people, which nothing enforces.
        retention_days: how long it is kept; None says nothing.
    """

    name: _Word
    rank: Annotated[int, Field(ge=0, le=100)]
    access: Annotated[str, Field(max_length=500)] = ""
    keywords: Annotated[tuple[_Word, ...], Field(max_length=200)] = ()
    paths: Annotated[tuple[_Word, ...], Field(max_length=200)] = ()
    pii: tuple[PersonalDataKind, ...] = ()
    least: Annotated[int, Field(ge=1)] = 1
    retention_days: Annotated[int | None, Field(ge=1, le=36_500)] = None


class AnswerScope(_Checked):
    """What the actions of a policy on answers and search are about.

    Attributes:
        kinds: of personal data; empty for all.
        classes: only what rests on a document of one of these classes; empty for everything.
    """

    kinds: tuple[PersonalDataKind, ...] = ()
    classes: Annotated[tuple[_Word, ...], Field(max_length=50)] = ()


class PolicyBody(_Checked):
    """What a policy says."""

    description: Annotated[str, Field(max_length=2_000)] = ""
    references: Annotated[tuple[_Word, ...], Field(max_length=20)] = ()
    pii: dict[Place, Action] = {}
    answers: AnswerScope = AnswerScope()
    classes: Annotated[tuple[DataClass, ...], Field(max_length=50)] = ()

    @model_validator(mode="after")
    def _check_actions(self) -> "PolicyBody":
        for place, action in self.pii.items():
            if action not in ACTIONS[place]:
                raise ValueError(f"{place} may be {', '.join(ACTIONS[place])}, not {action}")
        if len({one.name for one in self.classes}) < len(self.classes):
            raise ValueError("two classes have the same name")
        return self


class ShippedPolicy(PolicyBody):
    """A policy of the file, which holds everywhere."""

    id: _Word
    name: _Line

    @property
    def body(self) -> PolicyBody:
        """What it says, without its name."""
        said = {"pii": self.pii, "answers": self.answers, "classes": self.classes}
        return PolicyBody(description=self.description, references=self.references, **said)


class GovernanceRules(_Checked):
    """The file."""

    references: tuple[StandardReference, ...]
    policies: tuple[ShippedPolicy, ...]

    def resolve(self, ids: Sequence[str]) -> list[StandardReference]:
        """The standards of these ids, in their order. Raises UnknownReference."""
        known = {one.id: one for one in self.references}
        if missing := [one for one in ids if one not in known]:
            raise UnknownReference(", ".join(missing))
        return [known[one] for one in ids]


def read_governance(file: Path = SHIPPED) -> GovernanceRules:
    """The shipped rules. Raises InvalidSettings where the file is none, or names a standard that it does not have."""
    try:
        rules = GovernanceRules.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
        for policy in rules.policies:
            rules.resolve(policy.references)
    except (OSError, yaml.YAMLError, ValidationError, UnknownReference) as error:
        raise InvalidSettings(f"{file}: {error}") from None
    return rules


def effective_action(
    place: Place, shipped: Sequence[PolicyBody], tenant: Sequence[PolicyBody], workspace: Sequence[PolicyBody]
) -> Action:
    """What is done at a place: as the tenant says, else as it is shipped, and stricter where the workspace is."""
    base = _strictest(place, tenant) or _strictest(place, shipped) or ACTIONS[place][0]
    own = _strictest(place, workspace) or base
    return max(base, own, key=ACTIONS[place].index)


def answer_rules(
    place: Place, shipped: Sequence[PolicyBody], tenant: Sequence[PolicyBody], workspace: Sequence[PolicyBody]
) -> tuple[AnswerRule, ...]:
    """The rules of a place that is about answers: the tenant's, else those that are shipped, and the workspace's."""
    above = [one for one in tenant if place in one.pii] or [one for one in shipped if place in one.pii]
    said = [*above, *(one for one in workspace if place in one.pii)]
    rules = [
        AnswerRule(one.pii[place], tuple(map(str, one.answers.kinds)), one.answers.classes)
        for one in said
        if one.pii[place] != "none"
    ]
    return tuple(dict.fromkeys(rules))


def classes_in_force(
    shipped: Sequence[PolicyBody], tenant: Sequence[PolicyBody], workspace: Sequence[PolicyBody]
) -> tuple[DataClass, ...]:
    """Classes of data: of two with a name the nearer one's rules count, and its rank where that is no lower."""
    found: dict[str, DataClass] = {}
    for policies in (shipped, tenant, workspace):
        for one in (each for policy in policies for each in policy.classes):
            above = found.get(one.name)
            rank = one.rank if above is None else max(one.rank, above.rank)
            found[one.name] = one.model_copy(update={"rank": rank})
    return tuple(sorted(found.values(), key=lambda one: (one.rank, one.name)))


def _strictest(place: Place, policies: Sequence[PolicyBody]) -> Action | None:
    said = [policy.pii[place] for policy in policies if place in policy.pii]
    return max(said, key=ACTIONS[place].index) if said else None


def parse_policy(body: Any) -> PolicyBody:
    """A policy as it is stored."""
    return PolicyBody.model_validate(body)


def policy_of_request(body: Any) -> PolicyBody:
    """A policy as somebody sends it. Raises InvalidPolicy: naming what is wrong first."""
    try:
        return PolicyBody.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidPolicy(f"{place}: {first['msg']}" if place else first["msg"]) from None


def classify(
    classes: Sequence[DataClass], filename: str, text: str, finds: Mapping[PersonalDataKind, int]
) -> DataClass | None:
    """The class of the highest rank of which a text, the name of its file or its finds meet a rule; None: of none."""
    lower, name = text.lower(), filename.lower()
    for one in sorted(classes, key=lambda each: -each.rank):
        words = any(_has_word(lower, word.lower()) for word in one.keywords)
        paths = any(fnmatch(name, pattern.lower()) for pattern in one.paths)
        if words or paths or (one.pii and sum(finds.get(kind, 0) for kind in one.pii) >= one.least):
            return one
    return None


def _has_word(text: str, word: str) -> bool:
    # Most texts have most words nowhere, and looking for a plain piece costs a hundredth of the pattern.
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
