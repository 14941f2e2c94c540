"""Corrections of lines: what becomes of the page's text, words and chunks, and of another reading of the page."""

import random
from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image

from cluster.basics.errors import Invalid, TooLarge
from configs.sections import ChunkSettings
from pipelines.documents.chunk.split import split_pages
from pipelines.documents.corrections.followed_quote import follow_quote, hash_quote
from pipelines.documents.corrections.line_edit import LineEdit, align_tokens, apply_edit
from pipelines.documents.corrections.page_lines import split_lines, weak_lines
from pipelines.documents.corrections.replay import KeptCorrection, place_correction, replay_corrections
from pipelines.documents.document import Box, ChunkId, Page, VersionId, chunk_id
from pipelines.documents.review.chunk_patch import OutOfStep, StoredChunk, patch_chunks
from pipelines.documents.review.line_request import LineRequest, line_edit
from serve_apps.http.routes.review.confidence_overlay import draw_confidence
from tests.fakes.scanned import SURE, UNSURE, scanned_page

TEXT = "The lcase ends in May.\n\n  Rent: 1l00 EUR\nPaid monthly."
VERSION = VersionId("v" * 32)


def page_of(text: str = TEXT, unsure: tuple[str, ...] = ("lcase", "1l00")) -> Page:
    return scanned_page(1, text, unsure)


def corrected(page: Page, line: int, text: str, word: int | None = None) -> tuple[Page, LineEdit]:
    _, edit = line_edit(page, LineRequest(line, text, word))
    return apply_edit(page, edit), edit


def words_stand_in_text(page: Page) -> bool:
    return all(page.text[word.start : word.start + len(word.text)] == word.text for word in page.words)


def test_lines_are_those_of_the_text_with_their_words_and_confidence() -> None:
    lines = split_lines(page_of())
    assert [(line.number, line.text) for line in lines] == [
        (0, "The lcase ends in May."),
        (2, "Rent: 1l00 EUR"),
        (3, "Paid monthly."),
    ]
    assert [line.number for line in weak_lines(lines, 0.85)] == [0, 2]
    assert lines[0].confidence == pytest.approx((4 * SURE + UNSURE) / 5)
    assert TEXT[lines[1].start : lines[1].end] == lines[1].text
    assert weak_lines(split_lines(Page(1, TEXT)), 0.85) == []


def test_a_corrected_line_keeps_its_place_and_words_that_stayed_keep_their_boxes() -> None:
    before = page_of()
    after, _ = corrected(before, 0, "The lease ends in May.")
    assert after.text == TEXT.replace("lcase", "lease")
    assert [word.box for word in after.words] == [word.box for word in before.words]
    assert {word.confidence for word in split_lines(after)[0].words} == {1.0}
    assert (after.engine, after.attempts[-1].engine) == ("tesseract+human", "human")
    assert weak_lines(split_lines(after), 0.85)[0].number == 2, "the other line waits still"
    assert after.confidence is not None and before.confidence is not None and after.confidence > before.confidence


def test_words_that_become_more_or_fewer_share_the_room_of_those_before() -> None:
    before = page_of()
    more, _ = corrected(before, 2, "Rent: 1 100 EUR net")
    assert more.text == TEXT.replace("1l00 EUR", "1 100 EUR net")
    line, old = split_lines(more)[1], split_lines(before)[1]
    assert [word.text for word in line.words] == ["Rent:", "1", "100", "EUR", "net"]
    assert line.words[0].box == old.words[0].box
    assert line.box is not None and old.box is not None
    assert (line.box.x0, line.box.x1) == pytest.approx((old.box.x0, old.box.x1))
    assert words_stand_in_text(more)
    fewer, _ = corrected(before, 0, "May.")
    assert [word.text for word in split_lines(fewer)[0].words] == ["May."]
    assert words_stand_in_text(fewer)


def test_a_correction_of_one_word_says_nothing_of_the_others() -> None:
    page = page_of("Rcnt is l00 EUR", ("Rcnt", "l00"))
    after, edit = corrected(page, 0, "100", word=page.text.index("l00"))
    assert (after.text, edit.whole) == ("Rcnt is 100 EUR", False)
    assert [word.confidence for word in after.words] == [UNSURE, SURE, 1.0, SURE]


def test_a_line_that_is_right_can_be_confirmed() -> None:
    after, edit = corrected(page_of(), 0, "The lcase ends in May.")
    assert (after.text, edit.shift) == (TEXT, 0)
    assert {word.confidence for word in split_lines(after)[0].words} == {1.0}


@pytest.mark.parametrize(
    "text", ["", "  \t", "two\nlines", "a\x00b", "bell\x07", "a\u2028b", "\x85", "a\x0cb", "a\ud800"]
)
def test_what_no_line_can_hold_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        line_edit(page_of(), LineRequest(0, text))


def test_lines_and_words_that_are_not_there_are_refused() -> None:
    for request in (LineRequest(1, "x"), LineRequest(99, "x"), LineRequest(0, "x", word=1), LineRequest(0, "x", 10**7)):
        with pytest.raises(Invalid):
            line_edit(page_of(), request)
    with pytest.raises(TooLarge):
        line_edit(page_of(), LineRequest(0, "x" * 1_000_000))


def test_a_row_of_a_table_keeps_its_cells() -> None:
    page = page_of("| Item | Prlce |\n| --- | --- |\n| Oil | 12 |", ("Prlce",))
    with pytest.raises(Invalid):
        line_edit(page, LineRequest(0, "| Item Price |"))
    after, _ = corrected(page, 0, "| Item | Price |")
    assert [word.text for word in split_lines(after)[0].words] == ["Item", "Price"]
    assert words_stand_in_text(after)


def test_every_old_token_is_in_exactly_one_group() -> None:
    rng = random.Random(5)
    for _ in range(300):
        old = [rng.choice("abcde") for _ in range(rng.randint(1, 7))]
        new = [rng.choice("abcdef") for _ in range(rng.randint(1, 7))]
        groups = align_tokens(old, new)
        assert [n for _, first, last, _, _ in groups for n in range(first, last)] == list(range(len(old)))
        assert [n for *_, begin, stop in groups for n in range(begin, stop)] == list(range(len(new)))
        assert all(old[a:b] == new[c:d] for same, a, b, c, d in groups if same)


WORDS = ("the", "lease", "of", "a", "house", "ends", "when", "its", "rent", "was", "not", "paid", "for", "months")


def pages_of(rng: random.Random, count: int = 3) -> list[Page]:
    """Scanned prose: lines of ten words, sentences that end anywhere."""
    pages = []
    for number in range(1, count + 1):
        lines = []
        for _ in range(30):
            line = [rng.choice(WORDS) + ("." if rng.random() < 0.12 else "") for _ in range(10)]
            lines.append(" ".join(line).capitalize())
        pages.append(scanned_page(number, "\n".join(lines)))
    return pages


def stored_chunks(pages: list[Page], settings: ChunkSettings) -> list[StoredChunk]:
    made = []
    for chunk in split_pages(pages, settings):
        metadata = (
            {}
            if chunk.parent is None
            else {"parent": {"spans": [[s.page, s.start, s.end] for s in chunk.parent.spans]}}
        )
        made.append(StoredChunk(chunk_id(VERSION, "c", chunk.ordinal, chunk.text), chunk, metadata))
    return made


@pytest.mark.parametrize("strategy", ["semantic", "topic_coherence", "hierarchical"])
def test_borders_of_chunks_stay_so_few_change_and_nothing_is_lost(strategy: str) -> None:
    rng = random.Random(7)
    settings = ChunkSettings(strategy=strategy, size=600, overlap=120)
    pages = pages_of(rng)
    for _ in range(60):
        stored = stored_chunks(pages, settings)
        page = pages[rng.randrange(len(pages))]
        line = rng.choice(split_lines(page))
        words = line.text.split()
        at = rng.randrange(len(words))
        words[at : at + rng.randint(0, 3)] = [rng.choice(["Mxbridge", "x", "7"]) for _ in range(rng.randint(1, 4))]
        after, edit = corrected(page, line.number, " ".join(words))
        patched = patch_chunks(stored, VERSION, "c", page, after, edit)
        texts = {other.number: (after if other is page else other).text for other in pages}
        covered = set()
        for one in patched:
            chunk = one.chunk
            assert chunk.text == "\n".join(texts[s.page][s.start : s.end] for s in chunk.spans)
            assert one.id == chunk_id(VERSION, "c", chunk.ordinal, chunk.text)
            covered |= {at for s in chunk.spans if s.page == page.number for at in range(s.start, s.end)}
            for number, start, end in one.metadata.get("parent", {}).get("spans", ()):
                assert texts[number][start:end].strip() == texts[number][start:end]
        assert all(sign.isspace() for at, sign in enumerate(after.text) if at not in covered), "no character is lost"
        assert sum(one.is_new for one in patched) <= 3
        assert any(word in one.chunk.text for one in patched for word in words)


def test_a_corrected_title_stands_above_the_chunks_under_it_and_they_keep_their_ids() -> None:
    text = "LEASC OF THE HOUSE\n\n" + "It ends in May.\n" * 90 + "\n\nANOTHER PART\n\nIt goes on."
    page = scanned_page(1, text)
    stored = stored_chunks([page], ChunkSettings(size=400, overlap=0))
    after, edit = corrected(page, 0, "LEASE OF THE HOUSE")
    patched = patch_chunks(stored, VERSION, "c", page, after, edit)
    under = [one for one in patched if "LEASE OF THE HOUSE" in one.chunk.headings]
    assert len(under) > 2 and not any("LEASC OF THE HOUSE" in one.chunk.headings for one in patched)
    assert [one.chunk.ordinal for one in patched if one.is_new] == [0]


def test_chunks_of_another_text_are_told_apart() -> None:
    page = page_of()
    stored = stored_chunks([page], ChunkSettings())
    changed = replace(page, text=page.text.replace("May", "Mai"))
    after, edit = corrected(changed, 0, "The lease ends in Mai.")
    with pytest.raises(OutOfStep):
        patch_chunks(stored, VERSION, "c", changed, after, edit)
    broken = [StoredChunk(ChunkId("x"), replace(stored[0].chunk, text=stored[0].chunk.text + "!"), {})]
    with pytest.raises(OutOfStep):
        patch_chunks(broken, VERSION, "c", page, *corrected(page, 0, "The lease ends in May."))


def kept(page: Page, line: int, after: str, **other: object) -> KeptCorrection:
    found = next(one for one in split_lines(page) if one.number == line)
    made = KeptCorrection("1", line, found.text, after, found.box, True)
    return replace(made, **other)  # type: ignore[arg-type]


def test_a_correction_is_put_on_another_reading_by_its_text_or_its_place() -> None:
    one = kept(page_of(), 0, "The lease ends in May.")
    again = replay_corrections(page_of(), [one])
    assert again.page == apply_edit(page_of(), LineEdit(0, one.before, one.after))
    moved = page_of("A stamp\n" + TEXT)  # the new engine saw a line more, and everything is further down
    assert place_correction(moved, replace(one, box=split_lines(moved)[1].box)) is not None
    other = page_of("Thc lcasc cnds in Nay\n\n  Rent: 1l00 EUR")
    edit = place_correction(other, one)
    assert edit is not None and (edit.before, edit.after) == ("Thc lcasc cnds in Nay", one.after)


def test_a_line_that_another_engine_cut_in_two_is_one_again() -> None:
    page = page_of()
    one = kept(page, 0, "The lease ends in May.")
    left, right = split_lines(page)[0].words[:3], split_lines(page)[0].words[3:]
    text = " ".join(word.text for word in left) + "\n" + " ".join(word.text for word in right)
    cut = Page(1, text, page.words[:5], "paddle", 0.5)
    replayed = replay_corrections(cut, [one])
    assert (replayed.page.text, replayed.placed) == ("The lease ends in May.", ("1",))


@pytest.mark.parametrize(
    ("read", "says"),
    [
        ("Total amount due: 1OO", "Total amount due: 100"),  # what reads better than before stays so
        ("Tota1 arnount due: 1O0", "Tota1 arnount due: 100"),
        ("Total amount due: 100", "Total amount due: 100"),
        ("Total am ount due: 1OO", "Total am ount due: 100"),
        ("Total amount due:", None),  # its word is not there
        ("Total amount due 1 O 0", None),
    ],
)
def test_a_correction_of_a_word_puts_nothing_but_the_word_on_another_reading(read: str, says: str | None) -> None:
    """Nobody has looked at the others: neither their old text nor their confidence comes along."""
    page = scanned_page(1, "Tota1 arnount due: 1O0", ("Tota1",))
    line, edit = line_edit(page, LineRequest(0, "100", word=page.text.index("1O0")))
    one = KeptCorrection("1", 0, edit.before, edit.after, line.box, edit.whole)
    again = scanned_page(1, read, ("Tota1", "Total"))
    replayed = replay_corrections(again, [one])
    if says is None:
        assert (replayed.page, replayed.unplaced) == (again, ("1",))
        return
    assert (replayed.page.text, replayed.placed) == (says, ("1",))
    assert words_stand_in_text(replayed.page)
    assert [word.confidence for word in replayed.page.words][:-1] == [word.confidence for word in again.words][:-1]


def test_a_word_of_a_line_without_geometry_is_put_on_a_like_line_alone() -> None:
    one = KeptCorrection("1", 0, "Tota1 arnount due: 1O0", "Tota1 arnount due: 100", None, False)
    assert replay_corrections(Page(1, "Total arnount due: 1O0"), [one]).page.text == "Total arnount due: 100"


def answered(page: Page, quote: str) -> tuple[int, int, str]:
    start = page.text.index(quote)
    return start, start + len(quote), hash_quote(quote)


def made_of(edit: LineEdit, at: int) -> dict[str, object]:
    """A correction as a stored answer's citation has it, from before the answer was stored."""
    texts = {"start": edit.start, "before": edit.before, "after": edit.after, "whole": edit.whole}
    return {"here": True, "since": False, "line": 0, "box": None, "at": at, **texts}


def test_a_quote_is_followed_by_what_its_page_said_not_by_when_its_answer_was_stored() -> None:
    """A page is loaded, corrected, and only then the answer that quotes it is stored."""
    first = page_of()
    second, one = corrected(first, 0, "The lease of it ends in May.")
    third, other = corrected(second, 2, "Rent: 1100 EUR")
    fourth, last = corrected(third, 2, "Rent: 1,100 EUR net")
    made = [made_of(edit, at) for at, edit in enumerate((one, other, last))]
    for seen, quote, now, told in (
        (first, "Rent: 1l00 EUR", "Rent: 1,100 EUR net", [1, 2]),
        (second, "Rent: 1l00 EUR", "Rent: 1,100 EUR net", [1, 2]),
        (third, "Rent: 1100 EUR", "Rent: 1,100 EUR net", [2]),
        (fourth, "Rent: 1,100 EUR net", "Rent: 1,100 EUR net", []),
        (first, "The lcase ends", "The lease of it ends", [0]),
        (fourth, "Paid monthly.", "Paid monthly.", []),
        (first, "Paid monthly.", "Paid monthly.", []),
    ):
        followed = follow_quote(fourth, *answered(seen, quote), made)
        assert followed is not None and fourth.text[followed.start : followed.end] == now
        assert [row["at"] for row in followed.corrections] == told
    assert follow_quote(fourth, 0, 4, hash_quote("Nothing"), made) is None
    assert follow_quote(page_of("Another reading."), *answered(first, "Rent: 1l00 EUR"), made) is None


def test_a_line_that_was_found_right_is_not_told_as_corrected() -> None:
    page, confirmed = corrected(page_of(), 2, "Rent: 1l00 EUR")
    after, edit = corrected(page, 2, "Rent: 1100 EUR")
    again, same = corrected(after, 2, "Rent: 1100 EUR")
    made = [made_of(one, at) for at, one in enumerate((confirmed, edit, same))]
    followed = follow_quote(again, *answered(page, "Rent: 1l00 EUR"), made)
    assert followed is not None and [row["at"] for row in followed.corrections] == [1]


def test_a_correction_without_its_line_is_told_and_the_page_stays() -> None:
    page = page_of()
    one = kept(page, 0, "The lease ends in May.", before="quite another", box=Box(0.5, 0.9, 0.6, 0.95))
    assert replay_corrections(page, [one]).unplaced == ("1",)
    assert replay_corrections(page, [one]).page == page


def test_lines_without_geometry_are_found_by_number_and_likeness() -> None:
    page = Page(1, TEXT)
    one = KeptCorrection("1", 0, "The lcase ends in May.", "The lease ends in May.", None, True)
    assert replay_corrections(page, [one]).page.text.startswith("The lease")
    assert replay_corrections(Page(1, "The lcasc ends in May."), [one]).placed == ("1",)
    assert replay_corrections(Page(1, "Nothing alike at all 12"), [one]).placed == ()


def test_words_are_coloured_by_how_sure_ocr_was_of_them() -> None:
    made = BytesIO()
    Image.new("RGB", (400, 200), "white").save(made, "PNG")
    page = page_of("good bad", ("bad",))
    drawn = Image.open(BytesIO(draw_confidence(made.getvalue(), page.words, 0.6)))
    assert drawn.size == (400, 200)

    def middle(word: int) -> tuple[int, ...]:
        box = page.words[word].box
        found = drawn.getpixel((int((box.x0 + box.x1) * 200), int((box.y0 + box.y1) * 100)))
        assert isinstance(found, tuple)
        return found

    (red, green, _), (other_red, other_green, _) = middle(1), middle(0)
    assert red > green and other_green > other_red, "the doubtful word is red, the other one green"
    assert drawn.getpixel((399, 199)) == (255, 255, 255)
