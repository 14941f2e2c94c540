"""Facts of forms and tables as evidence: those whose headings say what a question asks for, and whose value fits it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pipelines.documents.facts.page_fact import PageFact
from serve_apps.retrieval.answers.evidence import WordRarity
from serve_apps.retrieval.text.question_shape import AskedShape, measure_words
from serve_apps.retrieval.text.words import content_words

SUBJECT = 0.2  # weight of a word that stands in the titles of the document: all of it is about that
CHOSEN = 0.6  # coverage and likeness that a value brings which is one of the question's choices


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact and how well it answers a question."""

    fact: PageFact
    coverage: float  # share of the question's words that its headings and value have, or of its label's words, 0 to 1
    similarity: float | None  # cosine of the question to its headings; None where no embedder answered

    @property
    def score(self) -> float:
        """Both, of equal weight."""
        return self.coverage if self.similarity is None else (self.coverage + self.similarity) / 2


def fact_heading(fact: PageFact, subject: Collection[str]) -> str:
    """The headings of a fact, without a section that only repeats the title of the document."""
    says_more = set(content_words(fact.section)) - set(subject)
    return fact.heading if says_more else replace(fact, section="").heading


def rank_facts(
    shape: AskedShape,
    facts: Sequence[PageFact],
    subject: Collection[str],
    similarity: Sequence[float | None],
    titles: Sequence[Collection[str]] | None = None,
    passages: Sequence[str] = (),
) -> list[RankedFact]:
    """The facts that a question may ask for, best first.

    Args:
        subject: folded words of the titles of the documents.
        similarity: cosine of the question to the headings of each fact.
        titles: folded words of the titles over each fact, where the question does not say which document it means:
            then these have to be about what it asks, too, and a label alone is no evidence.
        passages: all that was found of the documents.
    """
    headings = [frozenset(content_words(fact_heading(one, subject))) for one in facts]
    around = [over | set(content_words(one.value)) for over, one in zip(headings, facts, strict=True)]
    rarity = WordRarity(around)

    def weight(word: str) -> float:
        return rarity.of(word) * (SUBJECT if word in subject else 1)

    wanted = shape.words | shape.attributes
    # Anything has an age or a length; a destination is of what it is asked of.
    is_measure = shape.measures and shape.attributes
    things = shape.words - shape.attributes - set(subject) - measure_words() if is_measure else frozenset[str]()
    elsewhere = _stand_elsewhere(things, facts, passages)
    whole = sum(map(weight, shape.words)) or 1.0
    found = []
    for at, (one, words, near) in enumerate(zip(facts, around, similarity, strict=True)):
        value = set(content_words(one.value))
        chosen = bool(shape.choices & value)
        if value <= shape.said and not chosen:
            continue
        label = content_words(f"{one.label} {one.column}")
        own = sum(map(weight, label))
        there = words if titles is None else words | set(titles[at])
        covered = min(1.0, sum(map(weight, wanted & there)) / whole)
        precise = sum(weight(word) for word in label if word in wanted) / own if own else 0.0
        coverage = max(covered, (covered + precise) / 2) if titles is None else covered
        if near is not None and _names_attribute(one, shape) and not (elsewhere and things.isdisjoint(words)):
            near = max(near, CHOSEN)  # `Age: 70`: what `how old` means, however little the two look alike
        if chosen:  # it is one of the answers that the question offers, whatever it stands under
            coverage, near = min(1.0, coverage + CHOSEN), None if near is None else max(near, CHOSEN)
        found.append(RankedFact(one, coverage, near))
    return sorted(found, key=lambda one: -one.score)


def _names_attribute(fact: PageFact, shape: AskedShape) -> bool:
    """True where a label is, or ends in, the noun that the question's words mean: `Living area` for `how large`."""
    words = list(content_words(fact.column or fact.label))
    return bool(words) and words[-1] in shape.attributes


def _stand_elsewhere(things: Collection[str], facts: Sequence[PageFact], passages: Sequence[str]) -> bool:
    """True where a section is about these things, or no passage speaks of them: a pilot's age is no bridge's."""

    def speaks(text: str) -> bool:
        return not set(things).isdisjoint(content_words(text))

    return bool(things) and (any(map(speaks, {one.section for one in facts})) or not any(map(speaks, passages)))
