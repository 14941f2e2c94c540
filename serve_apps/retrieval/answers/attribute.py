"""Attributes a model's unquoted claims to sentences of the passages: small models answer well and quote badly.

Such a claim is held to more than a quoted one. Its rare words weigh more than its common ones, so that one that stands
nowhere is not made up for. What tells questions apart (numbers with what they count, dates, negation, comparisons,
names) has to stand in the sentence, too, in the same order. And its question lends it nothing: what both say and the
sentence does not is what a model invents where a document is missing.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import PurePath
from statistics import median_low

from serve_apps.retrieval.answers import evidence, support
from serve_apps.retrieval.answers.evidence import EvidenceSentence
from serve_apps.retrieval.answers.quote import LEAST_WORDS
from serve_apps.retrieval.search.query import SearchHit
from serve_apps.retrieval.text.lexicon import GENERIC, SynonymLexicon
from serve_apps.retrieval.text.question_terms import QuestionTerm, TermKind, take_apart
from serve_apps.retrieval.text.values import find_numbers
from serve_apps.retrieval.text.words import content_words, find_names, word_tokens

LEAST_COVERED = 0.7  # of a claim's words, weighed by rarity
LEAST_TAKEN = 0.6  # of the words of each line of a list that a claim sums up, weighed alike
# Of the same where titles lend the claim more than names: what else a line says may be of another thing.
LEAST_TAKEN_UNDER_TITLES = 0.8
MOST_LINES = 8  # of such a list
FAR = 12  # lines before and behind the best one that are looked at for others of its list
TRIED = 5  # sentences, those with most of a claim
VALUES = {TermKind.NUMBER, TermKind.DATE}
DECISIVE = {TermKind.NEGATION, TermKind.COMPARISON, TermKind.QUANTIFIER}

_BOLD = re.compile(r"[-*•>]?\s*\*\*[^*]+\*\*")
_MARKUP = re.compile(r"[*_`|#>]+|\bNo\.(?=\s?\d)")  # `No. 12` denies nothing
_GENERIC = frozenset(content_words(" ".join(GENERIC)))  # words that say little: `located`, `offers`
_lexicon = cache(SynonymLexicon.read)


class PassageSentences:
    """The sentences of passages, titles included, and the words of each."""

    def __init__(self, question: str, hits: Sequence[SearchHit]) -> None:
        """The passages that an answer to the question may rest on."""
        self._hits, self._asked = hits, frozenset(content_words(question)) - _GENERIC
        self._sentences = evidence.split_hits(hits, titled=True)
        self._words = [frozenset(content_words(one.text)) for one in self._sentences]
        self._weight = evidence.WordRarity(self._words)

    def supporting(self, claim: str) -> list[EvidenceSentence]:
        """The sentence that says it, after the line that announces it if it needs that; empty where none does.

        What is word for word a sentence is found as well; a title alone says nothing. Where no sentence says all of it,
        the lines of one list do that it sums up.
        """
        said = frozenset(content_words(claim))
        if len(said) < LEAST_WORDS:
            return []  # a name or a number stands in many sentences and proves nothing
        weight = {word: self._weight.of(word) for word in said}
        worth = [sum(weight[word] for word in said & words) for words in self._words]
        best = sorted((at for at, value in enumerate(worth) if value), key=lambda at: -worth[at])
        first = [at for at in best if not self._sentences[at].title][:TRIED]
        led_in = [[line, at] for at in first for line in self._announcing_lines(at)[:TRIED]]
        announced = [[line, at] for line, at in led_in if said & self._words[at] - self._words[line]]
        tried = [*([at] for at in first), *announced]
        found = next((chosen for chosen in tried if self._states_claim(claim, weight, chosen)), None)
        if found is not None:
            return [self._sentences[at] for at in found]
        lists = (
            (self._summed_lines(claim, said, at, least), least)
            for at in first
            for least in (LEAST_TAKEN, LEAST_TAKEN_UNDER_TITLES)
        )
        stated = (chosen for chosen, least in lists if chosen and self._states_list(claim, weight, chosen, least))
        return list(self._joined(next(stated, [])))

    def _summed_lines(self, claim: str, said: frozenset[str], at: int, least: float) -> list[int]:
        """The lines around one, between the same titles, that a claim repeats, with their values and names."""
        around = [at]
        for step in (-1, 1):
            for one in range(at + step, at + step * (FAR + 1), step):
                if not 0 <= one < len(self._sentences) or self._sentences[one].title:
                    break
                if self._sentences[one].hit != self._sentences[at].hit:
                    break
                around.append(one)
        return [one for one in sorted(around) if self._is_taken(one, claim, said, least)][:MOST_LINES]

    def _is_taken(self, at: int, claim: str, said: frozenset[str], least: float) -> bool:
        """True where a claim repeats a line: a list of other things with other values is none that it sums up."""
        words, text = self._words[at], _MARKUP.sub(" ", self._sentences[at].text)
        whole = sum(map(self._weight.of, words))
        if not whole or sum(map(self._weight.of, words & said)) < least * whole:
            return False
        return find_numbers(text) <= find_numbers(claim) and support.unsupported_name(text, (claim,)) is None

    def _states_list(self, claim: str, weight: dict[str, float], chosen: Sequence[int], taken: float) -> bool:
        """True where these lines together state the claim under their titles, each line's words in one place of it.

        `taken`: the share of their words that the claim has; a smaller one leaves names alone to the titles.
        """
        texts = [self._sentences[at].text for at in chosen]
        hit = self._hits[self._sentences[chosen[0]].hit]
        above = (*hit.headings, PurePath(hit.filename).stem)
        there = frozenset[str]().union(*(self._words[at] for at in chosen))
        entitled = {word for text in above for word in content_words(text)}
        if taken < LEAST_TAKEN_UNDER_TITLES:
            entitled &= {word for name in find_names(claim) for word in name.words}
        wanted = [word for word in weight if word in there or word not in entitled]
        whole, own = sum(weight[word] for word in wanted), sum(weight[word] for word in wanted if word in there)
        if len(there & weight.keys()) < LEAST_WORDS or own < LEAST_COVERED * whole:
            return False
        said = " ".join(texts)
        extra = find_numbers(claim) - find_numbers(" ".join((said, *above)))
        if (self._asked & set(wanted)) - there or extra or not self._stand_apart(claim, chosen):
            return False
        return _terms_agree(claim, (*above, said), set()) and _contradicts_nothing(claim, said, above)

    def _stand_apart(self, claim: str, chosen: Sequence[int]) -> bool:
        """True where no line's own words stand among another's in the claim, which may give each the other's value."""
        places = defaultdict[str, list[int]](list)
        for place, word in enumerate(content_words(claim)):
            places[word].append(place)
        spans = []
        for at in chosen:
            others = frozenset[str]().union(*(self._words[one] for one in chosen if one != at))
            own = [places[word] for word in self._words[at] - others if word in places]
            sure = [found[0] for found in own if len(found) == 1] or [found[-1] for found in own[:1]]
            # Of a word that the claim has twice, the place among the line's others counts.
            near = [min(found, key=lambda place: abs(place - median_low(sure))) for found in own]
            spans += [(min(near), max(near))] if near else []
        spans.sort()
        return all(before[1] < after[0] for before, after in pairwise(spans))

    def _joined(self, chosen: Sequence[int]) -> Iterator[EvidenceSentence]:
        """Lines that follow each other as one quote."""
        for _, row in groupby(enumerate(chosen), lambda pair: pair[1] - pair[0]):
            lines = [self._sentences[at] for _, at in row]
            whole = evidence.join_sentences(lines[0], lines[-1], self._hits[lines[0].hit])
            yield from lines if whole is None else [whole]

    def _announcing_lines(self, at: int) -> list[int]:
        """The lines before a sentence in its passage that say what it is about, nearest first."""
        hit = self._sentences[at].hit
        before = [one for one in range(at - 1, -1, -1) if self._sentences[one].hit == hit]
        return [one for one in before if self._is_announcement(one)]

    def _is_announcement(self, at: int) -> bool:
        """A title, a line in bold or one that ends in a colon, the head of a table."""
        line, text, behind = self._sentences[at], self._sentences[at].text, self._sentences[at + 1].text
        head = text.startswith("|") and not behind.strip("|-: ")
        return line.title or head or text.rstrip("*_ ").endswith(":") or _BOLD.fullmatch(text) is not None

    def _states_claim(self, claim: str, weight: dict[str, float], chosen: Sequence[int]) -> bool:
        """True where these lines state the claim."""
        texts = [self._sentences[at].text for at in chosen]
        above = self._hits[self._sentences[chosen[0]].hit].titles
        there = frozenset[str]().union(*(self._words[at] for at in chosen))
        entitled = {one.word for text in above for one in word_tokens(text)}
        names = find_names(claim)
        named = {word for name in names for word in name.words if word in entitled}
        titled = {one.text.casefold() for one in word_tokens(claim) if one.word in named}
        part_of_name = {n for name in names if entitled.issuperset(name.words) for n in find_numbers(name.shown)}
        wanted = [word for word in weight if word in there or word not in named]
        whole = sum(weight[word] for word in wanted)
        if not whole or sum(weight[word] for word in wanted if word in there) < LEAST_COVERED * whole:
            return False
        said = " ".join(texts)
        if (self._asked & set(wanted)) - there or find_numbers(claim) - find_numbers(said) - part_of_name:
            return False
        return _terms_agree(claim, texts, titled) and _contradicts_nothing(claim, said, above)


def _contradicts_nothing(claim: str, said: str, above: Sequence[str]) -> bool:
    """True where a claim denies no more and no less than these lines, and names nobody that they and titles do not."""
    same = support.negation_kinds(claim) == support.negation_kinds(said)
    return same and support.unsupported_name(claim, (said, *above)) is None


def _terms_agree(claim: str, texts: Sequence[str], named: set[str]) -> bool:
    """True where a claim's values, names and negations stand in these lines; names of titles may stand anywhere."""
    own, *above, there = (take_apart(_MARKUP.sub(" ", text), _lexicon()).terms for text in (claim, *texts))
    titles = [term for terms in above for term in terms]
    everywhere = [*titles, *there]
    numbers = [one.text for one in own if one.kind in VALUES]
    named_once = {text for text in named if numbers.count(text) == 1}  # `Nexus 1`: part of a name
    values = [
        one for one in own if one.kind in VALUES and one.text not in named_once and not any(map(one.agrees, titles))
    ]
    # Whether a sentence's first word is a name only its other places tell.
    called = [one for at, one in enumerate(own) if one.kind is TermKind.NAME or (at == 0 and _is_called(one, there))]
    called = [one for one in called if not any(map(one.agrees, titles)) and one.text not in named]
    decisive = [one for one in own if one.kind in DECISIVE]
    bound = [own[at : at + _bound_length(own, at)] for at in range(len(own)) if _bound_length(own, at)]
    return (
        _in_order(values, there)
        and _in_order(called, there)
        and all(any(map(one.agrees, everywhere)) for one in decisive)
        and all(_stand_together(row, everywhere) for row in bound)
    )


def _is_called(term: QuestionTerm, there: Sequence[QuestionTerm]) -> bool:
    return any(term.agrees(other) for other in there if other.kind is TermKind.NAME)


def _in_order(terms: Sequence[QuestionTerm], there: Sequence[QuestionTerm]) -> bool:
    """True where all terms stand there, each behind the one before."""
    at = 0
    for term in terms:
        found = next((place for place in range(at, len(there)) if term.agrees(there[place])), None)
        if found is None:
            return False
        at = found + 1
    return True


def _bound_length(terms: Sequence[QuestionTerm], at: int) -> int:
    """Number of terms that belong together from here on; 0 where this one stands for itself.

    A negation goes with what it denies, and a number with what it counts, unless it is part of a name: `MECH 231`.
    """
    if at + 1 == len(terms) or terms[at + 1].kind is not TermKind.WORD:
        return 0
    if terms[at].kind is TermKind.NEGATION:
        return 2 if terms[at].text == "without" else min(3, len(terms) - at)
    return 2 if terms[at].kind is TermKind.NUMBER and (at == 0 or terms[at - 1].kind is not TermKind.NAME) else 0


def _stand_together(row: Sequence[QuestionTerm], there: Sequence[QuestionTerm]) -> bool:
    """True where terms stand there side by side; a number and its unit in either order, as in a table."""
    return any(
        all(map(QuestionTerm.agrees, row, part)) or (len(row) == 2 and all(map(QuestionTerm.agrees, row, part[::-1])))
        for part in (there[at : at + len(row)] for at in range(len(there) - len(row) + 1))
    )
