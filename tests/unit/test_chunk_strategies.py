"""Chunking strategies: no text lost by any of them, sizes, determinism, where each cuts, and their metrics."""

import time
from collections import Counter
from itertools import pairwise
from math import log2

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from configs.sections import ChunkSettings, ChunkStrategy
from pipelines.documents.chunk.entropy import EntropySum, shannon_entropy
from pipelines.documents.chunk.keywords import find_keywords, jaccard_similarity
from pipelines.documents.chunk.rulers import TokenRuler, word_ends
from pipelines.documents.chunk.split import chunker_fingerprint, needs_vectors, sentence_texts, split_pages
from pipelines.documents.chunk.strategies import STRATEGIES
from pipelines.documents.document import Box, Chunk, Page, Word
from tests.fakes.chunking import HARD_LINES, assert_no_text_lost, letter_vectors

NAMES = list(STRATEGIES)
UNITS = ["characters", "words", "tokens"]
PUMPS = "The pump drives cooling water through the engine. Cooling water leaves the pump towards the engine. "
TAXES = "Income taxes are assessed yearly by auditors. Auditors review income taxes for every yearly assessment. "


def every_third(text: str) -> list[int]:
    """A tokenizer to be: a token is three characters."""
    return list(range(3, len(text) + 3, 3))


def cut(pages: list[Page], sizes: ChunkSettings) -> list[Chunk]:
    """As the index stage does."""
    vectors = letter_vectors(sentence_texts(pages, sizes, every_third)) if needs_vectors(sizes) else None
    return split_pages(pages, sizes, vectors, every_third)


def chunks_by(strategy: ChunkStrategy, *texts: str, **sizes: object) -> list[Chunk]:
    return cut([Page(n, text) for n, text in enumerate(texts, 1)], ChunkSettings(strategy=strategy, **sizes))  # type: ignore[arg-type]


def lengths(chunks: list[Chunk], unit: str) -> list[int]:
    """As the unit counts them, a repeated header and the seams of pages included."""
    if unit == "characters":
        return [len(chunk.text) for chunk in chunks]
    ends = word_ends if unit == "words" else every_third
    rulers = [(TokenRuler(chunk.text, ends(chunk.text)), len(chunk.text)) for chunk in chunks]
    return [ruler.measure(0, length) for ruler, length in rulers]


@pytest.mark.parametrize("strategy", NAMES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(st.lists(st.sampled_from(HARD_LINES), max_size=14).map("\n".join), st.text(max_size=300)), max_size=4
    ),
    st.sampled_from(UNITS),
    st.integers(100, 300),
    st.integers(50, 400),
    st.integers(1, 150),
)
def test_no_strategy_loses_text(
    strategy: ChunkStrategy, texts: list[str], unit: str, size: int, target: int, minimum: int
) -> None:
    """B-16, CH-03, CH-04, CH-06 to CH-10: all text is kept, nothing is too large, and a repeat gives the same."""
    sizes = ChunkSettings(strategy=strategy, unit=unit, size=size, target=target, minimum=minimum, overlap=20)  # type: ignore[arg-type]
    pages = [Page(n, text) for n, text in enumerate(texts, 1)]
    chunks = cut(pages, sizes)
    assert_no_text_lost(pages, chunks)
    # Three-letter tokens are counted from the page's start, so that a chunk's own count may be one more a span.
    slack = {"characters": 0, "words": 0, "tokens": 1}[unit]
    assert all(
        0 < length <= size + slack * len(chunk.spans)
        for chunk, length in zip(chunks, lengths(chunks, unit), strict=True)
    )
    assert chunks == cut(pages, sizes)


@pytest.mark.parametrize("strategy", NAMES)
def test_every_span_leads_to_a_page_and_a_box(strategy: ChunkStrategy) -> None:
    """CH-05, CH-06 to CH-10: also over the end of a page."""
    lines = [f"Sentence {n} of the manual speaks about pumps and valves." for n in range(12)]
    text = "\n".join(lines)
    starts = [text.index(line) for line in lines]
    words = tuple(
        Word(part, start + line.index(part), Box(0.1 * at, 0.05 * row, 0.1 * at + 0.09, 0.05 * row + 0.04))
        for row, (line, start) in enumerate(zip(lines, starts, strict=True))
        for at, part in enumerate(dict.fromkeys(line.split()))
    )
    pages = [Page(3, text, words=words), Page(4, text, words=words)]
    for chunk in cut(pages, ChunkSettings(strategy=strategy, size=300, target=150, minimum=40)):
        assert {span.page for span in chunk.spans} == {box.page for box in chunk.boxes} <= {3, 4}
        shown = "".join(chunk.text.split())
        boxed = sum(len(span_words(pages, span.page, span.start, span.end)) for span in chunk.spans)
        assert shown and boxed
        assert len(chunk.boxes) == sum(
            len({round(word.box.y0, 4) for word in span_words(pages, span.page, span.start, span.end)})
            for span in chunk.spans
        )


def span_words(pages: list[Page], number: int, start: int, end: int) -> list[Word]:
    (page,) = [page for page in pages if page.number == number]
    return [word for word in page.words if word.start < end and word.start + len(word.text) > start]


GARBAGE = {
    "one endless word": "x" * 1_000_000,
    "dots and blank lines": "." * 200_000 + "\n" * 200_000,
    "blanks between two words": "a" + " " * 1_000_000 + "b",
    "sentences of a letter": "a. " * 100_000,
    "titles alone": "# a\n" * 20_000,
    "Chinese without stops": "泵驱动冷却水通过发动机" * 30_000,
    "Thai without blanks": "ปั๊มขับเคลื่อนน้ำหล่อเย็น" * 15_000,
    "different letters and stops": "".join(chr(0x4E00 + n % 20_000) + "。" for n in range(100_000)),
    "control characters": "\x00\x01\x02\x7f\x85 " * 50_000,
    "a table of numbers": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 30_000,
}


@pytest.mark.parametrize("unit", ["characters", "words"])
@pytest.mark.parametrize("strategy", ["semantic", "information_density", "topic_coherence", "hierarchical"])
def test_a_megabyte_of_garbage_is_cut_in_seconds(strategy: ChunkStrategy, unit: str) -> None:
    """CH-01, CH-07 to CH-09: time is linear in the text, whatever it is."""
    for name, text in GARBAGE.items():
        pages, sizes = [Page(1, text), Page(2, ""), Page(3, " \n ")], ChunkSettings(strategy=strategy, unit=unit)  # type: ignore[arg-type]
        begun = time.process_time()
        chunks = split_pages(pages, sizes)
        assert time.process_time() - begun < 12, name
        assert_no_text_lost(pages, chunks)
        assert max(lengths(chunks, unit)) <= sizes.size, name
        assert max(len(chunk.text) for chunk in chunks) <= 25 * sizes.size, name


@pytest.mark.parametrize("strategy", ["semantic_similarity", "adaptive"])
def test_many_vectors_are_compared_in_seconds(strategy: ChunkStrategy) -> None:
    """CH-06, CH-10: forty thousand sentences, as of a book of a thousand pages."""
    pages, sizes = [Page(1, PUMPS * 10_000 + TAXES * 10_000)], ChunkSettings(strategy=strategy)
    texts = sentence_texts(pages, sizes)
    vectors = np.tile(np.eye(8, dtype=np.float32), (len(texts) // 8 + 1, 48))[: len(texts)] / np.float32(48**0.5)
    begun = time.process_time()
    chunks = split_pages(pages, sizes, vectors)
    assert len(texts) == 40_000 and time.process_time() - begun < 20
    assert_no_text_lost(pages, chunks)


@pytest.mark.parametrize("strategy", NAMES)
def test_nothing_gives_nothing(strategy: ChunkStrategy) -> None:
    assert cut([], ChunkSettings(strategy=strategy)) == []
    assert cut([Page(1, ""), Page(2, " \n\t")], ChunkSettings(strategy=strategy)) == []


def test_ch_04_sizes_of_the_strategies_are_500_100_and_1500() -> None:
    """CH-04, X-01: target, least and most; a tenth of the target may be repeated."""
    plain = ChunkSettings()
    assert (plain.target, plain.minimum, plain.size, plain.overlap_ratio) == (500, 100, 1500, 0.1)


def test_ch_03_sizes_may_be_tokens_or_words_and_end_with_a_sentence() -> None:
    """CH-03: a thousand tokens, two hundred of them repeated, no sentence cut."""
    text = " ".join(f"Sentence number {n} says something about pumps and valves." for n in range(2_000))
    for unit, ends in (("words", word_ends), ("tokens", every_third)):
        chunks = chunks_by("semantic", text, unit=unit, size=1000, overlap=200)
        sizes = lengths(chunks, unit)
        assert all(900 <= size <= 1001 for size in sizes[:-1])
        assert all(chunk.text.startswith("Sentence") and chunk.text.endswith(".") for chunk in chunks)
        ruler = TokenRuler(text, ends(text))
        for before, after in pairwise(chunks):
            assert 150 <= ruler.measure(after.spans[0].start, before.spans[0].end) <= 200
    with pytest.raises(ValueError, match="no tokenizer"):
        split_pages([Page(1, text)], ChunkSettings(unit="tokens"))


def two_topics() -> tuple[Page, ChunkSettings]:
    return Page(1, PUMPS * 3 + TAXES * 3), ChunkSettings(strategy="semantic_similarity", minimum=60, overlap_ratio=0)


def topic_vectors(texts: list[str], cosine: float) -> NDArray[np.float32]:
    """Sentences on pumps along one axis, those on taxes at an angle to it."""
    away = [cosine, (1 - cosine**2) ** 0.5]
    return np.array([away if "taxes" in text.lower() else [1.0, 0.0] for text in texts], np.float32)


def test_ch_06_similar_sentences_stay_together() -> None:
    """CH-06, X-02: a chunk ends before a sentence whose cosine to it is below 0.85, or what is set."""
    page, sizes = two_topics()
    texts = sentence_texts([page], sizes)
    pumps, taxes = split_pages([page], sizes, topic_vectors(texts, 0.84))
    assert "axes" not in pumps.text and "pump" not in taxes.text
    assert pumps.method == "semantic_similarity"
    assert len(split_pages([page], sizes, topic_vectors(texts, 0.86))) == 1
    lax = sizes.model_copy(update={"similarity": 0.7})
    assert len(split_pages([page], lax, topic_vectors(texts, 0.84))) == 1
    with pytest.raises(ValueError, match="vectors for"):
        split_pages([page], sizes, topic_vectors(texts[1:], 0.84))


def test_ch_06_without_vectors_keywords_decide_and_the_method_says_so() -> None:
    page, sizes = two_topics()
    pumps, taxes = split_pages([page], sizes)
    assert pumps.method == taxes.method == "topic_coherence"


def test_ch_07_a_chunk_ends_at_the_target_or_where_much_is_said() -> None:
    """CH-07: the entropy of the chunk against 1.2 times the mean of sentences, not below the least size."""
    even = chunks_by(
        "information_density", " ".join(["Pumps move water, and water moves pumps."] * 60), overlap_ratio=0
    )
    assert all(500 <= len(chunk.text) <= 545 for chunk in even[:-1])
    dull, dense = "Aaaa aaaa aaaa aaaa. ", "Quick wyverns jab, fox-proof zinc: 7?[]{}%&$8@#! "
    mixed = chunks_by("information_density", (dull * 4 + dense) * 8, overlap_ratio=0, minimum=60)
    early = [chunk for chunk in mixed[:-1] if len(chunk.text) < 500]
    assert early and all(len(chunk.text) >= 60 for chunk in mixed)
    flat = chunks_by("information_density", (dull * 4 + dense) * 8, overlap_ratio=0, minimum=60, entropy_factor=9)
    assert len(flat) < len(mixed)


def test_ch_08_sentences_that_share_keywords_stay_together() -> None:
    """CH-08: letter words of four letters and more without stop words, Jaccard 0.3."""
    pumps, taxes = chunks_by("topic_coherence", PUMPS * 3 + TAXES * 3, overlap_ratio=0)
    assert "axes" not in pumps.text and "pump" not in taxes.text and pumps.method == "topic_coherence"
    assert len(chunks_by("topic_coherence", PUMPS * 3 + TAXES * 3, coherence=0)) == 1
    found = find_keywords("The pump2 with two Pumps, about 4000 of them: Wasser, oder Straßen")
    assert found == {"pumps", "wasser", "straßen"}


def test_keywords_are_known_in_scripts_without_spaces_and_with_vowel_signs() -> None:
    assert find_keywords("水泵坏了") == {"水泵", "泵坏", "坏了"}
    assert len(find_keywords("पानी का विद्यालय")) == 2
    assert jaccard_similarity({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)
    assert jaccard_similarity(set(), set()) == 0


def test_ch_09_parents_hold_their_chunks() -> None:
    """CH-09: parents of twice the target, chunks of half of it (what is too small joins one), each in its parent."""
    page = Page(1, " ".join(f"Sentence number {n} says something about pumps." for n in range(120)))
    chunks = split_pages([page], ChunkSettings(strategy="hierarchical"))
    parents = dict.fromkeys(chunk.parent for chunk in chunks)
    assert len(parents) > 3
    for parent in parents:
        assert parent is not None
        (span,) = parent.spans
        assert span.end - span.start <= 1000
        own = [chunk for chunk in chunks if chunk.parent == parent]
        assert [chunk.ordinal for chunk in own] == list(range(parent.first, parent.last + 1))
        assert all(len(chunk.text) <= 250 + 100 for chunk in own) and len(own) >= 3
        assert own[0].spans[0].start == span.start and own[-1].spans[-1].end == span.end
    assert [parent.ordinal for parent in parents if parent] == list(range(len(parents)))
    assert {chunk.method for chunk in chunks} == {"hierarchical"}


def test_ch_10_adaptive_takes_the_strategy_of_the_best_quality() -> None:
    """CH-10: 0.3 size consistency + 0.4 mean coherence + 0.3 coverage, reckoned here from the chunks themselves."""
    pages = [Page(1, (PUMPS * 2 + TAXES) * 6)]
    qualities = {}
    for name in ("topic_coherence", "information_density", "semantic_similarity"):
        chunks = cut(pages, ChunkSettings(strategy=name))  # type: ignore[arg-type]
        sizes = np.array([len(chunk.text) for chunk in chunks], float)
        words = [find_keywords(chunk.text) for chunk in chunks]
        beside = [jaccard_similarity(*pair) for pair in pairwise(words)]
        each = [np.mean(beside[max(at - 1, 0) : at + 1]) for at in range(len(chunks))] if beside else [1.0]
        qualities[name] = 0.3 * max(0, 1 - sizes.std() / sizes.mean()) + 0.4 * float(np.mean(each)) + 0.3
    best = max(qualities, key=lambda name: qualities[name])
    chosen = cut(pages, ChunkSettings(strategy="adaptive"))
    assert {chunk.method for chunk in chosen} == {f"adaptive:{best}"}
    assert len(set(qualities.values())) > 1
    without = split_pages(pages, ChunkSettings(strategy="adaptive"))
    assert without[0].method in ("adaptive:topic_coherence", "adaptive:information_density")


def test_ch_11_entropy_is_shannons_over_characters() -> None:
    """CH-11: H = -Σ p log2 p; of a text that grows it is the same."""
    text = "Pumps move water. 水泵"
    counts = Counter(text)
    expected = -sum(n / len(text) * log2(n / len(text)) for n in counts.values())
    assert shannon_entropy(text) == pytest.approx(expected)
    growing = EntropySum()
    for part in (text[:7], "", text[7:]):
        growing.add(part)
    assert growing.bits == pytest.approx(expected)
    assert shannon_entropy("") == shannon_entropy("aaaa") == 0


def test_ch_12_coherence_is_jaccard_with_the_neighbours_and_density_the_tightness_of_the_vectors() -> None:
    """CH-12, X-03: as the page defines them; without vectors there is no density."""
    chunks = chunks_by("topic_coherence", PUMPS * 3 + TAXES * 3, overlap_ratio=0)
    words = [find_keywords(chunk.text) for chunk in chunks]
    measured = [chunk.metrics for chunk in chunks]
    assert measured[0] and measured[0].coherence == pytest.approx(jaccard_similarity(*words), abs=1e-4)
    assert measured[0].density is None
    (alone,) = chunks_by("semantic", "Pumps move water.")
    assert alone.metrics and alone.metrics.coherence == 1
    page, sizes = two_topics()
    lax = sizes.model_copy(update={"similarity": -1})
    vectors = topic_vectors(sentence_texts([page], lax), 0)
    (mixed,) = split_pages([page], lax, vectors)
    assert mixed.metrics and mixed.metrics.density == pytest.approx(0.5**0.5, abs=1e-4)
    apart = split_pages([page], sizes, vectors)
    assert [chunk.metrics and chunk.metrics.density for chunk in apart] == [1.0, 1.0]


def test_ch_13_importance_grows_with_entropy_coherence_and_an_early_place() -> None:
    """CH-13: between 0 and 1."""
    same = chunks_by("semantic", "\n\n".join([PUMPS.strip()] * 60), overlap=0)
    values = [chunk.metrics.importance for chunk in same if chunk.metrics]
    assert values == sorted(values, reverse=True) and 0 < values[-1] < values[0] <= 1
    dull = chunks_by("semantic", f"# A\n\n{'aaaa ' * 60}\n\n# B\n\n{PUMPS * 3}", minimum=1, size=400)
    assert len(dull) == 2 and dull[0].metrics and dull[1].metrics
    assert dull[1].metrics.importance > dull[0].metrics.importance


def test_the_fingerprint_follows_what_the_strategy_uses_and_nothing_else() -> None:
    """CH-06 to CH-10: an index of before is not made again because a strategy came that it does not use."""
    assert chunker_fingerprint(ChunkSettings()) == "5b97646845386c0c"
    assert chunker_fingerprint(ChunkSettings(target=600, coherence=0.5)) == "5b97646845386c0c"
    known = {chunker_fingerprint(ChunkSettings(strategy=name)) for name in NAMES}
    known |= {chunker_fingerprint(ChunkSettings(unit=unit)) for unit in ("words", "tokens")}
    assert len(known) == len(NAMES) + 2
    for strategy, changed in (
        ("semantic_similarity", {"similarity": 0.7}),
        ("information_density", {"entropy_factor": 1.5}),
        ("topic_coherence", {"coherence": 0.2}),
        ("hierarchical", {"target": 400}),
        ("adaptive", {"similarity": 0.7}),
    ):
        plain = ChunkSettings(strategy=strategy)  # type: ignore[arg-type]
        assert chunker_fingerprint(plain) != chunker_fingerprint(plain.model_copy(update=changed))
        assert chunker_fingerprint(plain) == chunker_fingerprint(plain.model_copy(update={"overlap": 1}))


def test_the_fingerprint_follows_the_embedder_where_the_cut_does() -> None:
    """CH-03, CH-06, CH-10: by vectors of sentences, or by the tokens of the model; nowhere else."""
    cuts = [ChunkSettings(strategy=name) for name in NAMES]
    cuts += [ChunkSettings(unit="words"), ChunkSettings(unit="tokens")]
    following = [cut for cut in cuts if chunker_fingerprint(cut, "one") != chunker_fingerprint(cut, "other")]
    assert [(cut.strategy, cut.unit) for cut in following] == [
        ("semantic_similarity", "characters"),
        ("adaptive", "characters"),
        ("semantic", "tokens"),
    ]


def test_a_strategy_is_named_in_any_case() -> None:
    assert ChunkSettings(strategy="TOPIC_COHERENCE").strategy == "topic_coherence"  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        ChunkSettings(strategy="by_moon")  # type: ignore[arg-type]
