"""Pairs of questions in which two roles are exchanged, of many kinds: who did it to whom, from where to where."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from tests.evals.near_misses import Pair

FORMS = Path(__file__).with_suffix(".txt")
_HELD_OUT = "held out"


@dataclass(frozen=True, slots=True)
class RoleKind:
    """A syntactic kind: what fills `{x}` and `{y}`, and its wordings with the roles one way and the other way round."""

    name: str
    fillers: tuple[str, ...]
    forms: tuple[tuple[str, str], ...]
    held_out: bool  # no rule was made on it


def read_kinds(path: Path = FORMS) -> tuple[RoleKind, ...]:
    """The kinds of the file, in its order."""
    fillers: dict[str, tuple[str, ...]] = {}
    forms: dict[tuple[str, str, bool], list[tuple[str, str]]] = {}
    held_out, kind = False, ("", "", False)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            sort, _, names = line[1:].partition("] ")
            fillers[sort] = tuple(names.split(", "))
        elif line == f"= {_HELD_OUT}":
            held_out = True
        elif line.startswith("= "):
            name, _, sort = line[2:].partition(", ")
            kind = (name, sort, held_out)
        elif line and not line.startswith("# "):
            one, _, other = line.partition(" | ")
            forms.setdefault(kind, []).append((one, other or one.format(x="{y}", y="{x}")))
    return tuple(RoleKind(name, fillers[sort], tuple(told), held) for (name, sort, held), told in forms.items())


def make(most: int, kinds: Sequence[RoleKind], seed: int = 7) -> list[Pair]:
    """`most` pairs, of each kind as many as of any other, of each form in turn; the same for the same arguments."""
    rng = random.Random(seed)
    found: dict[tuple[str, str], Pair] = {}
    decks: Mapping[str, Sequence[tuple[str, ...]]] = {
        kind.name: rng.sample(list(permutations(kind.fillers, 2)), k=len(kind.fillers) * 3) for kind in kinds
    }
    for turn in range(max(map(len, decks.values()))):
        for kind in kinds:
            if turn < len(decks[kind.name]) and len(found) < most:
                x, y = decks[kind.name][turn]
                one, other = (form.format(x=x, y=y) for form in kind.forms[turn % len(kind.forms)])
                one, other = (text[:1].upper() + text[1:] if text.endswith("?") else text for text in (one, other))
                found.setdefault((one, other), Pair(one, other, kind.name))
    return list(found.values())
