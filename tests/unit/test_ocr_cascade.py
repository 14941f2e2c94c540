"""The cascade: which engine is asked when, what is kept, and that nothing fails silently."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from configs.sections import OcrSettings
from pipelines.documents.document import CaveatKind, EngineAttempt, FailureReason, Page, Unreadable
from pipelines.documents.ocr.cascade import OcrCascade, build_cascade, comparable_confidence
from pipelines.documents.ocr.reading import EngineMissing, LineTranscript, PixelArea, TextLine
from tests.fakes.ocr import (
    CRASH,
    MISSING,
    TIMEOUT,
    FakeClock,
    FakeEngine,
    FakeLineEngine,
    FakeWholePageEngine,
    Step,
    line,
)

GOOD = (line("a clean page", 0.95, 10), line("of two lines", 0.93, 30))
MIXED = (line("Total of this page", 0.9, 10), line("ab cd", 0.2, 30), line("and it ends well", 0.85, 50))


def page_picture() -> NDArray[np.uint8]:
    """Light, with letter-like blots in rows."""
    picture = np.full((200, 300), 255, np.uint8)
    for y in range(10, 180, 20):
        for x in range(10, 280, 12):
            picture[y : y + 14, x : x + 8] = 0
            picture[y + 4 : y + 10, x + 3 : x + 5] = 255
    return picture


def blank() -> NDArray[np.uint8]:
    return np.full((200, 300), 255, np.uint8)


def transcript(text: str, confidence: float = 0.99) -> LineTranscript:
    return LineTranscript(text, confidence)


def read(engine: FakeEngine, second: FakeLineEngine | None = None, **settings: object) -> Page:
    return OcrCascade(OcrSettings.model_validate(settings), engine, second, FakeClock()).read(page_picture(), 3)


def exact(page: Page) -> bool:
    return all(page.text[word.start :].startswith(word.text) for word in page.words)


def test_a_good_page_is_read_once() -> None:
    """IN-07: the second engine is for what the first reads badly."""
    engine, second = FakeEngine([GOOD]), FakeLineEngine(lambda area: transcript("x"))
    page = read(engine, second)
    assert page.text == "a clean page\nof two lines"
    assert (page.number, page.engine, len(engine.layouts), second.asked) == (3, "tesseract", 1, [])


def test_weak_lines_are_read_again_and_the_better_reading_is_kept() -> None:
    """IN-07, X-11: only the weak line goes to EasyOCR; its reading replaces the weaker one."""
    second = FakeLineEngine(lambda area: transcript("ABC DEF"))
    page = read(FakeEngine([MIXED]), second)
    assert page.text.splitlines()[1] == "ABC DEF"
    assert len(second.asked) == 1
    assert second.asked[0].y0 < 30 < 40 < second.asked[0].y1
    assert page.engine == "tesseract+easyocr"
    assert exact(page)


def test_a_worse_second_reading_is_recorded_but_not_kept() -> None:
    """X-11: a step's reading is kept only if it is better."""
    page = read(FakeEngine([MIXED]), FakeLineEngine(lambda area: transcript("garbage", 0.001)))
    assert page.text.splitlines()[1] == "ab cd"
    assert page.engine == "tesseract"
    assert [(a.engine, a.kept) for a in page.attempts if a.engine == "easyocr"] == [("easyocr", False)]


@pytest.mark.parametrize(("threshold", "asked"), [(0.60, 1), (0.88, 2), (0.1, 0)])
def test_the_threshold_decides_which_lines_are_weak(threshold: float, asked: int) -> None:
    """IN-09: OCR_CONFIDENCE_THRESHOLD, 0.60 unless set."""
    second = FakeLineEngine(lambda area: transcript("", 0))
    read(FakeEngine([MIXED]), second, confidence_threshold=threshold)
    assert len(second.asked) == asked
    assert OcrSettings().confidence_threshold == 0.60


def test_confidence_is_the_mean_over_words() -> None:
    """IN-09: the page mean of Tesseract's 0 to 100, as 0 to 1."""
    page = read(FakeEngine([(line("one two three", 0.9), line("four", 0.6, 30))]))
    assert page.confidence == pytest.approx((3 * 0.9 + 0.6) / 4)


def test_no_more_lines_than_allowed_those_with_most_to_gain_first() -> None:
    """IN-07: the second engine's cost on a page is bounded."""
    lines = (line("x", 0.1, 10), line("a long weak line", 0.3, 30), line("short", 0.3, 50))
    second = FakeLineEngine(lambda area: transcript("", 0))
    read(FakeEngine([lines]), second, easyocr_max_lines=1)
    assert [round(area.y0 + area.y1) for area in second.asked] == [70]


def read_doubtful(paddle: FakeWholePageEngine | None, *readings: Step, **settings: object) -> tuple[Page, FakeEngine]:
    engine = FakeEngine(list(readings))
    made = OcrCascade(OcrSettings.model_validate(settings), engine, None, FakeClock(), paddle=paddle)
    return made.read(page_picture(), 3), engine


def test_a_doubtful_page_is_read_by_paddle_and_the_better_reading_is_kept() -> None:
    """IN-07: in place of Tesseract's second look; a good page costs nothing more."""
    paddle = FakeWholePageEngine((line("the words of a receipt", 0.95),))
    page, engine = read_doubtful(paddle, (line("tne w0rds of", 0.6),))
    assert (page.text, page.engine, engine.layouts) == ("the words of a receipt", "paddle", [None])
    assert [(one.engine, one.kept) for one in page.attempts] == [("tesseract", False), ("paddle", True)]
    page, _ = read_doubtful(paddle, GOOD)
    assert page.engine == "tesseract" and paddle.asked == 1


@pytest.mark.parametrize(("confidence", "asked"), [(0.85, 1), (0.93, 0)])
def test_paddle_looks_at_pages_that_are_only_a_little_doubtful(confidence: float, asked: int) -> None:
    paddle = FakeWholePageEngine((line("the words of a receipt", 0.95),))
    page, engine = read_doubtful(paddle, (line("the word of a receipt", confidence),))
    assert (paddle.asked, page.engine) == (asked, "paddle" if asked else "tesseract")
    assert engine.layouts == [None]  # Tesseract does not read it again


def test_a_worse_reading_by_paddle_is_told_and_left() -> None:
    page, engine = read_doubtful(FakeWholePageEngine((line("tne", 0.9),)), (line("the words of a receipt", 0.7),))
    assert (page.text, page.engine, engine.layouts) == ("the words of a receipt", "tesseract", [None, 6])
    assert ("paddle", False) in [(one.engine, one.kept) for one in page.attempts]


def read_with_both(
    paddle: FakeWholePageEngine, lines: Sequence[TextLine], easy: FakeLineEngine
) -> tuple[Page, FakeLineEngine]:
    """A page that is not doubtful as a whole, which both engines may be asked about."""
    made = OcrCascade(OcrSettings(), FakeEngine([tuple(lines)]), easy, FakeClock(), paddle=paddle)
    return made.read(page_picture(), 3), easy


SOUND = [line(f"a line that is read well {n}", 0.97, 10 + 20 * n) for n in range(6)]


def test_a_weak_line_of_a_sound_page_is_read_by_paddle_alone() -> None:
    """IN-07: lines go on, not pages; EasyOCR, which is slow, is asked only about what PP-OCR is not sure of."""
    easy = FakeLineEngine(lambda area: transcript("by Ralph K. Bennett"))
    weak = line("By RALpo K", 0.3, 150)
    page, _ = read_with_both(FakeWholePageEngine((), transcript=transcript("by Ralph", 0.9)), [*SOUND, weak], easy)
    assert page.text.splitlines()[-1] == "by Ralph" and page.engine == "tesseract+paddle" and easy.asked == []
    assert exact(page)
    unsure = FakeWholePageEngine((), transcript=transcript("by Rolph", 0.7))
    page, _ = read_with_both(unsure, [*SOUND, weak], easy)
    assert page.text.splitlines()[-1] == "by Ralph K. Bennett" and len(easy.asked) == 1 and unsure.asked == 0
    told = [(one.engine, one.kept) for one in page.attempts]
    assert told == [("tesseract", True), ("paddle", False), ("easyocr", True)]


@pytest.mark.parametrize("scrap", ["ae", "ee > ——— ...", "- - = ~ | _ - - |"])
def test_scraps_that_neither_is_sure_of_are_not_worth_easyocr(scrap: str) -> None:
    """IN-07: ornaments and rules are read as a row of marks with hardly a letter among them."""
    easy = FakeLineEngine(lambda area: transcript("x"))
    unsure = FakeWholePageEngine((), transcript=transcript(scrap, 0.5))
    page, _ = read_with_both(unsure, [*SOUND, line(scrap, 0.3, 150)], easy)
    assert page.text.splitlines()[-1] == scrap and len(unsure.weak) == 1 and easy.asked == []


def test_weak_lines_of_a_page_that_paddle_read_stay_as_they_are() -> None:
    easy = FakeLineEngine(lambda area: transcript("x"))
    lines = (line("the words of a receipt", 0.95), line("its weak last line", 0.3, 50))
    paddle = FakeWholePageEngine(lines)
    page, _ = read_with_both(paddle, (line("tne w0rds of", 0.3),), easy)
    assert page.engine == "paddle" and paddle.weak == [] and easy.asked == []


@pytest.mark.parametrize("error", [EngineMissing("away"), Unreadable(FailureReason.CRASHED, "died")])
def test_without_paddle_easyocr_is_asked_about_the_weak_lines(error: Exception) -> None:
    easy = FakeLineEngine(lambda area: transcript("by Ralph K. Bennett"))
    paddle = FakeWholePageEngine((), transcript=error)
    page, _ = read_with_both(paddle, [*SOUND, line("By RALpo K", 0.3, 150)], easy)
    assert page.text.splitlines()[-1] == "by Ralph K. Bennett"
    assert any(one.engine == "paddle" and "stay as they are" in one.note for one in page.attempts)


@pytest.mark.parametrize("error", [MISSING, CRASH, TIMEOUT])
def test_paddle_that_is_missing_or_fails_is_a_named_fallback(error: Exception) -> None:
    """X-11: the page stands as it was read, and its attempts say why."""
    page, _ = read_doubtful(FakeWholePageEngine(error), (line("weak words", 0.7),))
    assert page.text == "weak words"
    assert [one.note for one in page.attempts if one.engine == "paddle"] == [str(error)]


def test_paddle_alone_is_a_strategy() -> None:
    """IN-07: and a language that it does not read is said, not read wrongly."""
    page, engine = read_doubtful(FakeWholePageEngine((line("all of it", 0.9),)), GOOD, strategy="paddle")
    assert (page.text, page.engine, engine.layouts) == ("all of it", "paddle", [])
    with pytest.raises(EngineMissing, match="does not read eng"):
        read_doubtful(None, GOOD, strategy="paddle")


def test_paddle_reads_languages_in_latin_letters() -> None:
    assert build_cascade(OcrSettings(languages=("deu", "fra"))).has_paddle
    assert not build_cascade(OcrSettings(languages=("eng", "rus"))).has_paddle
    assert not build_cascade(OcrSettings(strategy="tesseract")).has_paddle


def test_the_detector_runs_only_where_no_line_was_found() -> None:
    """IN-07: a page without a line is searched by EasyOCR, and its lines are read."""
    second = FakeLineEngine(lambda area: transcript("found it"), finds=(PixelArea(10, 10, 90, 30),))
    page = read(FakeEngine([()]), second)
    assert (page.text, page.engine, second.detections) == ("found it", "easyocr", 1)
    assert exact(page)
    again = FakeLineEngine(lambda area: transcript("x"), finds=())
    read(FakeEngine([MIXED]), again)
    assert again.detections == 0


def test_a_blank_page_is_empty_text_and_no_failure() -> None:
    """IN-07: nothing on the page: no text, no second engine, no error."""
    second = FakeLineEngine(lambda area: transcript("ghost"), finds=(PixelArea(0, 0, 9, 9),))
    page = OcrCascade(OcrSettings(), FakeEngine([()]), second).read(blank(), 1)
    assert (page.text, page.words, page.failure, page.confidence, second.detections) == ("", (), None, 0.0, 0)


@pytest.mark.parametrize("second", [None, FakeLineEngine(MISSING), FakeLineEngine(CRASH)])
def test_a_missing_or_crashing_second_engine_is_a_named_fallback(second: FakeLineEngine | None) -> None:
    """X-11: Tesseract's reading stands, and the attempts say why."""
    page = read(FakeEngine([MIXED]), second)
    assert page.text.splitlines()[1] == "ab cd"
    last = page.attempts[-1]
    assert (last.engine, last.kept) == ("easyocr", False)
    assert "weak lines stay as they are" in last.note


@pytest.mark.parametrize(("error", "reason"), [(TIMEOUT, FailureReason.TIMEOUT), (CRASH, FailureReason.CRASHED)])
def test_a_first_reading_that_fails_fails_the_page(error: Unreadable, reason: FailureReason) -> None:
    with pytest.raises(Unreadable) as caught:
        read(FakeEngine([error]))
    assert caught.value.reason is reason


def test_a_later_reading_that_fails_leaves_the_first() -> None:
    weak = (line("weak words", 0.4),)
    page = read(FakeEngine([weak, TIMEOUT]))
    assert page.text == "weak words"
    assert any("timeout" in attempt.note for attempt in page.attempts)


def test_all_readings_of_a_page_share_one_time_limit() -> None:
    clock = FakeClock()
    engine = FakeEngine([(line("weak words", 0.4),)], clock=clock, costs=70)
    OcrCascade(OcrSettings(engine_seconds=100), engine, None, clock).read(page_picture(), 1)
    assert engine.allowed[:2] == [100, 30]


def test_the_second_engine_is_not_begun_without_time() -> None:
    clock = FakeClock()
    second = FakeLineEngine(lambda area: transcript("late"), finds=(PixelArea(1, 1, 9, 9),))
    engine = FakeEngine([()], clock=clock, costs=60)
    page = OcrCascade(OcrSettings(engine_seconds=50), engine, second, clock).read(page_picture(), 1)
    assert (page.text, second.detections) == ("", 0)
    assert "timeout" in page.attempts[-1].note


def test_time_that_a_page_waits_for_a_core_is_not_what_it_costs() -> None:
    clock = FakeClock()
    second = FakeLineEngine(lambda area: transcript("found it"), finds=(PixelArea(10, 10, 90, 30),))
    engine = FakeEngine([()], clock=clock, costs=6000)
    page = OcrCascade(OcrSettings(engine_seconds=50), engine, second, FakeClock(), clock).read(page_picture(), 1)
    assert page.text == "found it" and page.ms > 50_000


def test_a_blank_page_names_the_engine_that_was_asked() -> None:
    page = OcrCascade(OcrSettings(strategy="easyocr"), FakeEngine([GOOD]), FakeLineEngine(CRASH)).read(blank(), 1)
    assert (page.text, page.engine) == ("", "easyocr")


def test_a_doubtful_page_is_read_as_one_block_and_the_fuller_reading_wins() -> None:
    """X-11: worth is expected characters, so a confident reading of half the page does not win."""
    half, whole = (line("some", 0.7),), (line("some and all the rest", 0.68),)
    page = read(FakeEngine([half, whole]))
    assert page.text == "some and all the rest"
    assert [attempt.kept for attempt in page.attempts[:2]] == [False, True]


def test_a_reading_full_of_garbage_does_not_win_by_its_length() -> None:
    """X-11: what had better stayed away counts against a reading."""
    short, long = (line("all there is", 0.7),), (line("all there is", 0.7), line("|;~ -- ,, i1 ._ rr" * 9, 0.2, 30))
    assert read(FakeEngine([short, long])).text == "all there is"


def test_no_reading_is_not_better_than_a_poor_one() -> None:
    assert read(FakeEngine([(line("poor words", 0.1),), ()])).text == "poor words"
    assert read(FakeEngine([(), (line("poor words", 0.1),)])).text == "poor words"


def test_one_engine_alone_is_not_retried_above_the_threshold() -> None:
    """IN-07: OCR_STRATEGY=tesseract is the fast way."""
    engine = FakeEngine([(line("so so", 0.7),)])
    read(engine, strategy="tesseract")
    assert engine.layouts == [None]


def test_a_page_upside_down_is_turned_when_the_first_reading_is_poor() -> None:
    """IN-11: rotation correction; boxes are those of the picture as it came."""
    upright = (line("now it reads", 0.95, 10, x=10),)
    page = read(FakeEngine([(line("uou", 0.2),), upright], rotations=(180,)))
    assert page.text == "now it reads"
    assert page.words[0].box.x1 == pytest.approx(1 - 10 / 300)
    assert page.words[0].box.y1 == pytest.approx(1 - 10 / 200)
    assert any(attempt.note == "rotation 180" and attempt.kept for attempt in page.attempts)


def test_rotations_are_tried_until_one_reads_well() -> None:
    """IN-11: each turns the picture as it came; what reads no better is recorded and not kept."""
    weak, upright = (line("uou", 0.2),), (line("now it reads", 0.95, 10, x=10),)
    engine = FakeEngine([weak, (line("ou", 0.1),), upright], rotations=(90, 180, 270))
    page = read(engine)
    assert page.text == "now it reads"
    assert [picture.shape for picture in engine.pictures] == [(200, 300), (300, 200), (200, 300)]
    assert [(a.note, a.kept) for a in page.attempts[1:]] == [("rotation 90", False), ("rotation 180", True)]


def test_garbage_does_not_turn_the_page() -> None:
    """IN-11: what reads as garbage both ways is tried as it came, not as it was turned."""
    garbage, more = (line("uo ,;~ uou ii", 0.35),), (line("uo ,", 0.38),)
    engine = FakeEngine([garbage, more, (line("the whole receipt", 0.9),)], rotations=(90,))
    assert read(engine).text == "the whole receipt"
    assert [picture.shape for picture in engine.pictures] == [(200, 300), (300, 200), (200, 300)]


def test_a_page_that_reads_well_is_not_turned() -> None:
    """IN-11: a normal page pays nothing."""
    engine = FakeEngine([(line("so so", 0.7),)], rotations=CRASH)
    assert read(engine, strategy="tesseract").attempts[0].kept
    assert len(engine.pictures) == 1


def test_orientation_detection_that_fails_is_recorded() -> None:
    page = read(FakeEngine([(line("poor", 0.2),)], rotations=TIMEOUT))
    assert any(attempt.note.startswith("orientation: timeout") for attempt in page.attempts)


@pytest.mark.parametrize("reading", [(line("poor", 0.2),), (line("uou ii qx ,;", 0.72),), ()])
def test_a_page_that_reads_badly_says_where_nothing_can_tell_how_it_stands(reading: tuple[TextLine, ...]) -> None:
    page = read(FakeEngine([reading], rotations=MISSING, letters=MISSING))
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.LANGUAGE_MISSING]
    assert "install it" in page.caveats[0].detail
    assert read(FakeEngine([GOOD], rotations=MISSING, letters=MISSING)).caveats == ()


def test_easyocr_alone() -> None:
    """IN-07: OCR_STRATEGY=easyocr asks nobody else, and its absence is an error with a fix."""
    engine = FakeEngine([GOOD])
    second = FakeLineEngine(lambda area: transcript("by the other"), finds=(PixelArea(10, 10, 90, 30),))
    page = read(engine, second, strategy="easyocr")
    assert (page.text, page.engine, engine.layouts) == ("by the other", "easyocr", [])
    with pytest.raises(EngineMissing) as caught:
        read(engine, None, strategy="easyocr")
    assert caught.value.hint


def test_too_many_pixels_are_refused_before_any_work() -> None:
    engine = FakeEngine([GOOD])
    with pytest.raises(Unreadable) as caught:
        read(engine, max_pixels=100)
    assert (caught.value.reason, engine.layouts) == (FailureReason.BOMB, [])


def test_every_attempt_has_engine_confidence_and_verdict() -> None:
    """X-11: a reading can be explained."""
    page = read(FakeEngine([MIXED]), FakeLineEngine(lambda area: transcript("AB CD")))
    assert all(isinstance(a, EngineAttempt) and a.engine and 0 <= a.confidence <= 1 for a in page.attempts)
    assert sum(a.kept for a in page.attempts if a.engine == "tesseract") == 1
    assert page.attempts[-1].note == "line 2: ab cd"


def test_words_of_a_replaced_line_share_its_width() -> None:
    second = FakeLineEngine(lambda area: transcript("one two three"))
    words = [w for w in read(FakeEngine([MIXED]), second).words if w.text in {"one", "two", "three"}]
    assert [w.box.x0 for w in words] == sorted(w.box.x0 for w in words)
    assert words[0].box.x0 == pytest.approx(10 / 300)
    assert words[-1].box.x1 == pytest.approx((10 + 8 * 5) / 300)


def test_paragraphs_are_set_apart() -> None:
    page = read(FakeEngine([(line("one", 0.9), line("two", 0.9, 30), line("three", 0.9, 60, opens=True))]))
    assert page.text == "one\ntwo\n\nthree"
    assert exact(page)


def test_comparable_confidence_is_monotone_and_stays_in_range() -> None:
    values = [comparable_confidence(transcript("x", value)) for value in (0.0, 0.01, 0.5, 1.0)]
    assert values == sorted(values)
    assert values[0] == 0.0
    assert values[-1] == pytest.approx(1.0)


def test_a_scan_in_another_language_says_so_however_well_it_reads() -> None:
    words = line("Die Priifung wurde nicht bestanden und wird im Mai wiederholt", 0.93)
    page = read(FakeEngine([(words,)]))
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.LANGUAGE_MISSING]
    assert "German" in page.caveats[0].detail
    assert read(FakeEngine([(words,)]), languages=("deu", "eng")).caveats == ()
    assert read(FakeEngine([GOOD])).caveats == ()


def test_letters_that_read_badly_are_asked_for_their_script_and_nothing_is_said_where_that_fails() -> None:
    garbage = (line("aXll osal ade cok oe pe", 0.4),)
    page = read(FakeEngine([garbage], letters="Arabic"))
    assert ["Arabic" in caveat.detail for caveat in page.caveats] == [True]
    for letters in ("Latin", "", TIMEOUT):
        assert read(FakeEngine([garbage], letters=letters)).caveats == ()
    assert read(FakeEngine([GOOD], letters="Arabic")).caveats == (), "a page that reads well is not asked"


def test_the_few_signs_of_a_seal_are_not_asked_for_their_script() -> None:
    seal = blank()
    for at in range(12):
        x, y = round(150 + 80 * math.cos(at * math.pi / 6)), round(100 + 80 * math.sin(at * math.pi / 6))
        seal[y - 7 : y + 7, x - 4 : x + 4] = 0
    engine = FakeEngine([(line("NAI 1Oa V 7 z", 0.4),)], letters="Japanese")
    assert OcrCascade(OcrSettings(), engine, None, FakeClock()).read(seal, 1).caveats == ()
