"""Hand-written rules of retrieval that can be left out: what each one is replaced by while it is."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from serve_apps.retrieval.answers import (
    abstain,
    answerer,
    conflicts,
    evidence,
    extraction,
    fact_evidence,
    meant_documents,
)
from serve_apps.retrieval.answers.meant_documents import MeantDocuments
from serve_apps.retrieval.answers.running_lines import RunningLines
from serve_apps.retrieval.cache import near_miss, paraphrase, roles
from serve_apps.retrieval.text import lexicon, question_shape, question_terms, question_tokens, words
from serve_apps.retrieval.text.lexicon import SynonymLexicon

Change = tuple[Any, str, Any]  # where it is looked up, its name there, and what stands in its place
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Ablation:
    """A rule or list, and what is changed to do without it."""

    rule: str
    changes: tuple[Change, ...]


@contextmanager
def left_out(ablation: Ablation) -> Iterator[None]:
    """Do without a rule in this process, until the block ends."""
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in ablation.changes]
    try:
        for owner, name, value in ablation.changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)


@contextmanager
def folded_once() -> Iterator[None]:
    """Fold each word once for as long as one rule is left out: half of the time of an answer goes into it."""
    with left_out(Ablation("", ((words, "fold_word", lru_cache(200_000)(words.fold_word)),))):
        yield


def always(value: Any) -> Callable[..., Any]:
    """A function that gives this, whatever it is asked."""
    return lambda *_, **__: value


def _one(rule: str, owner: Any, name: str, value: Any) -> Ablation:
    return Ablation(rule, ((owner, name, value),))


def _itself(first: Any, *_: Any) -> Any:
    return first


def answer_ablations() -> list[Ablation]:
    """Rules of answers that are extracted, of what a question asks for, and of how its words are spelt."""
    return [
        _one("abstain: names that nobody speaks of", abstain, "is_unknown_name", always(False)),
        _one("abstain: names cost score", abstain, "NAMES_COST", 0.0),
        _one("abstain: words that nobody speaks of", abstain, "WORDS_COST", 0.0),
        _one("abstain: dates that nobody speaks of", abstain, "find_dates", always([])),
        _one("abstain: least score", abstain, "LEAST_SCORE", 0.0),
        _one("abstain: abbreviations stand for what they mean", abstain, "known_with_meanings", always(frozenset())),
        _one("conflict: sources that contradict each other", conflicts, "find_contradictions", always([])),
        _one("evidence: rare words weigh more", evidence.WordRarity, "of", always(1.0)),
        _one("evidence: a list goes with its sentence", evidence, "with_list", _itself),
        _one("evidence: running lines never answer", RunningLines, "has", always(False)),
        _one("evidence: facts of forms and tables", extraction, "_find_hit_facts", always([])),
        _one("evidence: words of the title weigh less", fact_evidence, "SUBJECT", 1.0),
        _one("evidence: a choice that the question offers", fact_evidence, "CHOSEN", 0.0),
        _one("evidence: facts nearly as good", extraction, "NEARLY", 1.0),
        _one("evidence: documents that the question names", answerer, "find_meant_documents", always(MeantDocuments())),
        _one("evidence: a question compares documents", meant_documents, "_compares", always(False)),
        _one(
            "evidence: documents worded alike are rivals",
            meant_documents._DocumentForm,
            "_is_worded_like",
            always(False),
        ),
        _one("wording: commands around the question", answerer, "extract_subject", _itself),
        _one("wording: nouns for question words", question_shape, "_attributes", always(frozenset())),
        _one("wording: choices", question_shape, "_CHOICE", _NEVER),
        _one("spelling: one letter away", words, "_is_near_spelling", always(False)),
        _one("spelling: accents", words, "_without_accents", _itself),
    ]


def cache_ablations() -> list[Ablation]:
    """Rules and lists by which the cache compares two questions."""
    return [
        _one("near-miss: signs", near_miss, "signs_of", always(())),
        _one("near-miss: only English", near_miss, "is_english", always(True)),
        _one("near-miss: voice and last preposition", near_miss, "same_voice", always(True)),
        Ablation(
            "near-miss: prepositions and exchanged words",
            ((near_miss, "same_roles", always(True)), (paraphrase, "same_roles", always(True))),
        ),
        Ablation(
            "near-miss: order as it is written",
            ((near_miss, "swapped_as_written", always(False)), (paraphrase, "swapped_as_written", always(False))),
        ),
        Ablation(
            "near-miss: tenses", ((question_terms, "PAST", frozenset()), (question_terms, "PRESENT", frozenset()))
        ),
        _one("near-miss: persons", question_terms, "FIRST_PERSON", frozenset()),
        _one("rewording: all of it", near_miss, "is_rewording", always(False)),
        _one("rewording: neighbours that changed places", paraphrase, "_neighbours_swapped", always(False)),
        _one("rewording: general words come and go", paraphrase, "GENERIC", frozenset()),
        _one("rewording: small words count as a difference", paraphrase, "_small_words_differ", always(False)),
        _one("wording: passives become active", question_terms, "_to_active", list),
        _one("wording: what was fronted", question_terms, "_undo_fronting", list),
        _one("wording: politeness", question_tokens, "_POLITE", _NEVER),
        _one("wording: other ways to ask", question_tokens, "_ASKED_AS", ()),
        _one("wording: contractions", question_tokens, "_CONTRACTED", ()),
        _one("wording: numbers in words", question_terms, "NUMERALS", {}),
        _one("spelling: inflections", lexicon, "base_forms", lambda word: frozenset({word})),
        _one("synonyms", SynonymLexicon, "of", always(frozenset())),
        _one("roles: prepositions that may be left out", roles, "_OMITTED", "-"),
    ]


def threshold_grids() -> Mapping[str, tuple[Any, str, Sequence[float]]]:
    """Thresholds of answers, where they are looked up, and what is tried in their place."""
    return {
        "abstain.LEAST_SCORE": (abstain, "LEAST_SCORE", (0.30, 0.34, 0.38, 0.40, 0.42, 0.46)),
        "abstain.WORDS_COST": (abstain, "WORDS_COST", (0.1, 0.2, 0.3)),
        "extraction.NEARLY": (extraction, "NEARLY", (0.8, 0.9, 0.97)),
    }
