"""Pairs of questions that look alike and ask something else, made from real questions by one small change each."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


def _pairs(words: str) -> tuple[tuple[str, str], ...]:
    """Of `one/other one/other`."""
    return tuple((pair.split("/")[0], pair.split("/")[1]) for pair in words.split())


UNITS = _pairs(
    "kilometers/miles km/mi meters/feet kilograms/pounds kg/lb liters/gallons dollars/euros percent/points "
    "days/weeks hours/minutes months/years million/billion thousand/million week/month year/month day/hour "
    "years/days minutes/seconds $/€ century/decade mg/g ms/s "
)
OPPOSITES = _pairs(
    "before/after first/last more/less most/least minimum/maximum with/without increase/decrease largest/smallest "
    "highest/lowest north/south east/west northern/southern eastern/western high/low early/late old/new all/some "
    "above/below over/under begin/end start/end internal/external positive/negative allow/forbid "
    "allowed/forbidden include/exclude from/to earliest/latest best/worst public/private men/women left/right "
    "up/down oldest/youngest long/short longer/shorter buy/sell or/and won/lost activates/inhibits "
    "increases/decreases higher/lower promotes/prevents "
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
AUXILIARIES = ["is", "are", "was", "were", "does", "do", "did", "can", "could", "will", "should", "has", "have"]
ASKING = ("who", "what", "when", "where", "why")
# Words that a question can lose or change without asking something else: they are neither exchanged nor moved.
PLAIN = frozenset(
    word
    for line in (
        "a an the of in on at for to by with about as is are was were be been being do does did has have had can",
        "could may might would will shall should must and or not no what which who whom whose when where why how",
        "many much long far often that this these those it its they their them there he she his her i you we me",
        "us our your my one if than from into during between under over s t also any some all more most such",
        "other into through using used use please give name state tell kind type sort called",
    )
    for word in line.split()
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two questions that differ in what they ask, and by what."""

    one: str
    other: str
    change: str


def make(questions: Sequence[str], each: int, seed: int = 7) -> list[Pair]:
    """At most `each` pairs of every change; the same for the same questions."""
    rng = random.Random(seed)
    shuffled = list(dict.fromkeys(questions))
    rng.shuffle(shuffled)
    names = sorted({name for question in shuffled for name in _names(question)})
    words = sorted({word for question in shuffled for word in _content(question) if word.islower() and len(word) > 4})
    changes: dict[str, Callable[[str], str | None]] = {
        "number": lambda q: _number(q, rng),
        "date": lambda q: _date(q, rng),
        "unit": lambda q: _exchanged(q, UNITS, rng),
        "negation": _negated,
        "opposite": lambda q: _exchanged(q, OPPOSITES, rng),
        "another entity": lambda q: _another(q, _names(q), names, rng),
        "swapped entities": lambda q: _swapped(q, _names(q), rng),
        "word order": lambda q: _swapped(q, _content(q), rng),
        "another word": lambda q: _another(q, [w for w in _content(q) if w.islower()], words, rng),
        "question word": lambda q: _asked(q, rng),
    }
    found: list[Pair] = []
    for change, changed in changes.items():
        pairs = ((question, changed(question)) for question in shuffled)
        made = [Pair(one, other, change) for one, other in pairs if other is not None and other.lower() != one.lower()]
        found += made[:each]
    return found


def _number(question: str, rng: random.Random) -> str | None:
    """Another number, years left to `_date`."""
    found = [m for m in re.finditer(r"\b\d+(?:\.\d+)?\b", question) if not re.fullmatch(r"(19|20)\d\d", m.group())]
    if not found:
        return None
    match = rng.choice(found)
    digits = list(match.group())
    at = rng.choice([n for n, digit in enumerate(digits) if digit.isdigit()])
    digits[at] = rng.choice([d for d in "123456789" if d != digits[at]])
    return question[: match.start()] + "".join(digits) + question[match.end() :]


def _date(question: str, rng: random.Random) -> str | None:
    found = list(re.finditer(rf"\b(?:(?:19|20)\d\d|{'|'.join(m for m in MONTHS if m != 'May')})\b", question))
    if not found:
        return None
    match = rng.choice(found)
    old = match.group()
    new = (
        str(int(old) + rng.choice([-10, -2, -1, 1, 2, 10]))
        if old.isdigit()
        else rng.choice([m for m in MONTHS if m != old])
    )
    return question[: match.start()] + new + question[match.end() :]


def _exchanged(question: str, pairs: Sequence[tuple[str, str]], rng: random.Random) -> str | None:
    made = []
    for left, right in pairs:
        for old, new in ((left, right), (right, left)):
            pattern = rf"\b{re.escape(old)}\b" if old.isalpha() else re.escape(old)
            if re.search(pattern, question):
                made.append(re.sub(pattern, new, question, count=1))
    return rng.choice(made) if made else None


def _negated(question: str) -> str | None:
    """`not` after the first auxiliary and, in a question, its subject's first word where that is a name or pronoun."""
    match = re.search(rf"\b(?:{'|'.join(AUXILIARIES)})\b", question, re.I)
    if match is None or re.search(r"\bnot\b|n't\b", question, re.I):
        return None
    rest = question[match.end() :]
    subject = (
        re.match(r" (?:the )?(?:[A-Z][\w']*|you|we|they|it|he|she|[a-z]+s)(?= )", rest) if match.start() < 12 else None
    )
    at = match.end() + (subject.end() if subject else 0)
    return f"{question[:at]} not{question[at:]}"


def _asked(question: str, rng: random.Random) -> str | None:
    first, _, rest = question.partition(" ")
    if first.lower() not in ASKING or not rest:
        return None
    return f"{rng.choice([w for w in ASKING if w != first.lower()]).capitalize()} {rest}"


def _another(question: str, own: Sequence[str], others: Sequence[str], rng: random.Random) -> str | None:
    """One of its words in exchange for one of another question, of another beginning."""
    if not own:
        return None
    old = rng.choice(own)
    choice = [word for word in rng.sample(others, min(20, len(others))) if word[:3].lower() != old[:3].lower()]
    return re.sub(rf"\b{re.escape(old)}\b", choice[0], question, count=1) if choice else None


def _swapped(question: str, own: Sequence[str], rng: random.Random) -> str | None:
    """Two of its words in each other's place, unless only `and` or the like stands between them."""
    places = [match for word in dict.fromkeys(own) for match in re.finditer(rf"\b{re.escape(word)}\b", question)]
    places.sort(key=lambda match: match.start())
    couples = [
        (a, b)
        for n, a in enumerate(places)
        for b in places[n + 1 :]
        if a.end() <= b.start() and a.group().lower() != b.group().lower() and _apart(question[a.end() : b.start()])
    ]
    if not couples:
        return None
    a, b = rng.choice(couples)
    return question[: a.start()] + b.group() + question[a.end() : b.start()] + a.group() + question[b.end() :]


def _apart(between: str) -> bool:
    return not re.fullmatch(r"[\s,]*(?:and|or|and/or|versus|vs\.?)?[\s,]*", between) or between == " "


def _names(question: str) -> list[str]:
    """Words with a capital, but for the first."""
    words = list(re.finditer(r"\b[A-Z][\w]*(?:[-'][\w]+)*\b", question))
    return [m.group() for m in words if m.start() > 0 and m.group().lower() not in PLAIN]


def _content(question: str) -> Iterator[str] | list[str]:
    found = re.findall(r"\b[^\W\d_]{3,}\b", question)
    return [word for word in found if word.lower() not in PLAIN]
