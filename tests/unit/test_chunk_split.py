"""The semantic chunker: borders, sizes, overlap, tables, code, boxes, and that nothing is lost."""

import time
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configs.sections import ChunkSettings
from pipelines.documents.chunk.split import chunker_fingerprint, split_pages
from pipelines.documents.document import Box, Chunk, Failure, FailureReason, Page, PageBox, Word
from tests.fakes.chunking import HARD_LINES, assert_no_text_lost

SMALL = ChunkSettings(size=200, overlap=60, minimum=40)
SENTENCES = " ".join(f"Sentence number {n} says something about pumps." for n in range(40))


def chunks_of(*texts: str, sizes: ChunkSettings = SMALL) -> list[Chunk]:
    return split_pages([Page(n, text) for n, text in enumerate(texts, 1)], sizes)


def assert_sound(pages: list[Page], chunks: list[Chunk], sizes: ChunkSettings) -> None:
    """No text lost, no chunk too large, every span exact, ordinals 0-based."""
    assert_no_text_lost(pages, chunks)
    assert all(0 < len(chunk.text) <= sizes.size for chunk in chunks)


LINES = st.sampled_from(HARD_LINES)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.one_of(st.lists(LINES, max_size=14).map("\n".join), st.text(max_size=300)), max_size=4),
    st.integers(100, 300),
    st.integers(0, 400),
    st.integers(1, 150),
)
def test_no_text_is_lost_whatever_it_looks_like(texts: list[str], size: int, overlap: int, minimum: int) -> None:
    """CH-01, B-16: every non-space character of every page stands in a chunk, and none is too large."""
    pages = [Page(n, text) for n, text in enumerate(texts, 1)]
    sizes = ChunkSettings(size=size, overlap=overlap, minimum=minimum)
    chunks = split_pages(pages, sizes)
    assert_sound(pages, chunks, sizes)
    assert chunks == split_pages(pages, sizes)


def test_the_published_sizes_are_the_default() -> None:
    """CH-02: 1500 characters with 300 of overlap."""
    assert (ChunkSettings().size, ChunkSettings().overlap) == (1500, 300)
    long = chunks_of(" ".join([SENTENCES] * 4), sizes=ChunkSettings())
    assert all(1000 <= len(chunk.text) <= 1500 for chunk in long[:-1])


@pytest.mark.parametrize(
    "title",
    ["## Daily checks", "DAILY CHECKS", "CHAPTER 2", "SECTION IV. CHECKS", "2.1 Daily checks", "Checks\n======"],
)
def test_a_title_starts_a_chunk_and_travels_with_its_text(title: str) -> None:
    """CH-01: Markdown, UPPERCASE, CHAPTER/SECTION, numbered and underlined titles."""
    above = "The pump was installed in spring and has run without a fault since then."
    below = "Look at the oil level each morning before you start the engine of the pump."
    first, second = chunks_of(f"{above}\n\n{title}\n\n{below}")
    assert first.text == above
    assert second.text.startswith(title) and second.text.endswith(below)
    assert len(second.headings) == 1 and second.headings[0] in title


def test_titles_form_a_path() -> None:
    body = "A paragraph that is long enough to stand alone here."
    chunks = chunks_of(f"# Manual\n\n## Engine\n\n{body}\n\n### Oil\n\n{body}\n\n## Cabin\n\n{body}")
    assert [chunk.headings for chunk in chunks] == [
        ("Manual", "Engine"),
        ("Manual", "Engine", "Oil"),
        ("Manual", "Cabin"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "TOTAL 12.00\nCASH 20.00\nCHANGE 8.00\nTHANK YOU",
        "The rules changed.\nSection 5 of the act says that a pump\nmust be tested each year by its owner.",
        "1. Open the lid.\n2. Close the lid.\n3. Go home and rest.",
    ],
)
def test_what_only_looks_like_a_title_is_text(text: str) -> None:
    (chunk,) = chunks_of(text)
    assert chunk.headings == ()


def test_a_running_page_header_is_not_a_title() -> None:
    pages = [f"{n} HISTORY OF PUMPS\n\nthe text of page {n} goes on and on" for n in range(12, 16)]
    (chunk,) = chunks_of(*pages, sizes=ChunkSettings())
    assert chunk.headings == ()


def test_paragraphs_are_preferred_over_sentences_and_never_cut_inside_a_word() -> None:
    first, second = "One sentence stands here. " * 5, "Two sentences stand there. " * 4
    chunks = chunks_of(f"{first.strip()}\n\n{second.strip()}")
    assert chunks[0].text == first.strip()
    assert chunks[1].text.endswith(second.strip())


def test_overlap_is_whole_sentences_within_its_limit() -> None:
    """CH-02: what is repeated are whole sentences, not more characters than asked for."""
    chunks = chunks_of(SENTENCES)
    for before, after in pairwise(chunks):
        repeated = before.spans[-1].end - after.spans[0].start
        assert 0 < repeated <= SMALL.overlap
        assert after.text.startswith("Sentence") and before.text.endswith(".")
    without = chunks_of(SENTENCES, sizes=ChunkSettings(size=200, overlap=0, minimum=40))
    assert all(a.spans[-1].end <= b.spans[0].start for a, b in pairwise(without))


def test_small_fragments_are_merged_and_a_lonely_one_is_kept() -> None:
    """B-16: text below the minimum size joins a neighbour, or stays as a chunk of its own."""
    (merged,) = chunks_of("# A\n\nTiny.\n\n# B\n\nAlso tiny, but not quite as much as the one.")
    assert "Tiny." in merged.text and merged.headings == ()
    (alone,) = chunks_of("Ok.")
    assert alone.text == "Ok."


def test_a_table_is_cut_between_rows_and_keeps_its_header() -> None:
    header = "| part | price |\n|---|---|"
    text = header + "\n" + "\n".join(f"| part {n} | {n}.00 |" for n in range(60))
    chunks = chunks_of(text)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.text.startswith(header)
        assert all(line.count("|") == 3 for line in chunk.text.splitlines())
    assert_sound([Page(1, text)], chunks, SMALL)


def test_source_code_is_cut_at_blank_lines_and_its_comments_are_no_titles() -> None:
    functions = [f"# Adds {n}.\ndef add_{n}(x):\n    y = x + {n}\n    return (y)" for n in range(12)]
    chunks = chunks_of("\n\n".join(functions))
    assert len(chunks) > 2
    for chunk in chunks:
        assert chunk.headings == () and chunk.text.startswith("# Adds") and chunk.text.endswith("(y)")


def test_a_sentence_goes_on_over_the_page() -> None:
    (chunk,) = chunks_of("The pump is driven by", "a belt that is checked yearly.")
    assert [span.page for span in chunk.spans] == [1, 2]
    assert chunk.text == "The pump is driven by\na belt that is checked yearly."


def test_a_page_that_was_not_read_is_skipped_and_the_numbers_stay() -> None:
    pages = [Page(1, "First page."), Page(2, "", failure=Failure("ocr", FailureReason.TIMEOUT)), Page(3, "Third page.")]
    (chunk,) = split_pages(pages, SMALL)
    assert [span.page for span in chunk.spans] == [1, 3]
    assert split_pages(pages[1:2], SMALL) == [] == split_pages([Page(1, " \n ")], SMALL)


def test_a_megabyte_without_any_border_is_cut_by_length_in_seconds() -> None:
    """CH-01: the fixed fallback, in linear time; dots and blank lines are the worst of regular expressions."""
    begun = time.monotonic()
    fixed = split_pages([Page(1, "x" * 1_000_000)], ChunkSettings())
    assert {chunk.method for chunk in fixed} == {"fixed"}
    assert fixed[1].spans[0].start < fixed[0].spans[0].end, "cut text overlaps as well"
    hostile = [Page(1, "." * 200_000 + "\n" * 200_000)]
    assert_sound(hostile, split_pages(hostile, ChunkSettings()), ChunkSettings())
    split_pages([Page(1, "# a\n" * 20_000)], ChunkSettings())
    assert time.monotonic() - begun < 10


def test_boxes_are_one_rectangle_a_line() -> None:
    text = "Pump data\nMax 9 bar"
    words = (
        Word("Pump", 0, Box(0.1, 0.10, 0.2, 0.12)),
        Word("data", 5, Box(0.22, 0.10, 0.3, 0.12)),
        Word("Max", 10, Box(0.1, 0.14, 0.15, 0.16)),
        Word("9", 14, Box(0.16, 0.14, 0.17, 0.16)),
        Word("bar", 16, Box(0.18, 0.14, 0.22, 0.165)),
    )
    (chunk,) = split_pages([Page(7, text, words=words)], SMALL)
    assert chunk.boxes == (PageBox(7, Box(0.1, 0.10, 0.3, 0.12)), PageBox(7, Box(0.1, 0.14, 0.22, 0.165)))


def test_the_fingerprint_follows_the_settings() -> None:
    assert chunker_fingerprint(SMALL) == chunker_fingerprint(SMALL.model_copy())
    assert chunker_fingerprint(SMALL) != chunker_fingerprint(SMALL.model_copy(update={"overlap": 61}))
