"""A page is read in its own language: told by a first reading, read by what there is for it, or said to be unread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
import pytest

from configs.sections import OcrSettings
from pipelines.documents.document import Box, CaveatKind, EngineAttempt, Page, Word
from pipelines.documents.ocr.languages.auto_reading import MOST_OPEN, AutoLanguageReader
from pipelines.documents.ocr.languages.first_languages import FirstLook
from pipelines.documents.ocr.languages.scripts import identify_language, script_of_text
from pipelines.documents.ocr.preprocess import PreparedPage, unrepaired_page
from pipelines.documents.ocr.reading import EngineMissing, Picture, TextLine, mean_confidence
from tests.fakes.ocr import CRASH, MISSING, FakeClock, FakeEngine, line
from tests.unit.test_ocr_cascade import page_picture

GERMAN = "Die Prüfung der Anlage wurde durchgeführt und ist ohne Mängel für die Wartung ist der Betreiber zuständig"
AS_ENGLISH = (
    "Die Prufung der Anlage wurde durchgefiihrt und ist ohne Mangel fur die Wartung ist der Betreiber zustandig"
)
ENGLISH = "The contract is valid for two years and cannot be renewed before the end of the month as was agreed"
RUSSIAN = "Договор действует два года и не может быть продлён без письменного согласия сторон до конца месяца"
UKRAINIAN = "Київ є столицею та найбільшим містом України і має багату історію що налічує понад п’ятнадцять століть"
CHINESE = "本合同有效期为两年未经双方书面同意不得续签买方应在月底前付清全部款项"


def place_words(text: str, downwards: bool, sure: float) -> tuple[Word, ...]:
    """A word a sign, in one line or one column; what is no letter is doubtful."""
    at = [(0.5, n / 100) if downwards else (n / 100, 0.5) for n in range(len(text))]
    return tuple(
        Word(sign, n, Box(x, y, x + 0.01, y + 0.01), sure if sign.isalpha() else 0.5)
        for n, (sign, (x, y)) in enumerate(zip(text, at, strict=True))
    )


@dataclass
class FakeCascade:
    """Reads every page as prepared for its languages and strategy; raises what is an error."""

    settings: OcrSettings
    readings: dict[tuple[str, str], tuple[str, float] | Exception]
    asked: list[tuple[str, str]]
    downwards: bool = False
    closed: list[str] = field(default_factory=list)
    finished: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    clock: FakeClock = field(default_factory=FakeClock)
    costs: float = 0.0
    deadlines: list[float] = field(default_factory=list)
    views: list[PreparedPage | None] = field(default_factory=list)
    letters: float = 0.95  # confidence of each

    def close(self) -> None:
        self.closed.append("+".join(self.settings.languages))

    def read(
        self,
        image: Picture,
        number: int,
        dpi: int | None = None,
        look: FirstLook | None = None,
        deadline: float = math.inf,
        view: PreparedPage | None = None,
    ) -> Page:
        self.views.append(view)
        key = "+".join(self.settings.languages), self.settings.strategy
        self.asked.append(key)
        self.deadlines.append(deadline)
        self.clock.now += self.costs
        told = self.readings.get(key, EngineMissing("no data"))
        if isinstance(told, Exception):
            raise told
        lines: tuple[TextLine, ...] = tuple(line(text, told[1]) for text in told[0].splitlines())
        if look is not None:
            look(view or unrepaired_page(image, dpi), lines, seconds=9)
        told = self.finished.get(key, told)
        lines = tuple(line(text, told[1]) for text in told[0].splitlines())
        engine = "paddle" if key[1] == "paddle" else "tesseract"
        attempt = EngineAttempt(engine, told[1], 0, True)
        words = place_words(told[0], self.downwards, self.letters)
        return Page(number, told[0], words, engine, mean_confidence(lines), (attempt,))


@dataclass
class Workbench:
    """A reader over prepared readings, and what it asked for."""

    readings: dict[tuple[str, str], tuple[str, float] | Exception]
    installed: Sequence[str] = ("eng",)
    detector: FakeEngine = field(default_factory=lambda: FakeEngine([(line("x", 0.1),)]))
    settings: OcrSettings = field(default_factory=lambda: OcrSettings(languages=("auto",)))
    asked: list[tuple[str, str]] = field(default_factory=list)
    downwards: bool = False
    closed: list[str] = field(default_factory=list)
    finished: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)  # what whole cascades come to
    clock: FakeClock = field(default_factory=FakeClock)
    costs: float = 0.0  # of each reading
    deadlines: list[float] = field(default_factory=list)
    views: list[PreparedPage | None] = field(default_factory=list)  # that each reading was given
    letters: float = 0.95

    def make(self) -> AutoLanguageReader:
        def build(settings: OcrSettings) -> FakeCascade:
            told = (self.readings, self.asked, self.downwards, self.closed, self.finished)
            return FakeCascade(settings, *told, self.clock, self.costs, self.deadlines, self.views, self.letters)

        return AutoLanguageReader(self.settings, self.detector, lambda: self.installed, build, self.clock)

    def read(self, picture: Picture | None = None) -> Page:
        return self.make().read(page_picture() if picture is None else picture, 3)


def seen_as(script: str | Exception) -> FakeEngine:
    """A detector that tells this script of an upright page."""
    return FakeEngine([(line("x", 0.1),)], letters=script)


def languages_of(page: Page) -> str:
    return next(one.languages for one in page.attempts if one.kept)


def test_the_picture_is_prepared_once_for_all_tries() -> None:
    bench = Workbench({("eng", "cascade"): (AS_ENGLISH, 0.8), ("deu", "cascade"): (GERMAN, 0.9)}, ("deu", "eng"))
    bench.read()
    first, second = bench.views
    assert first is None and second is not None


def test_english_is_read_once_in_english() -> None:
    bench = Workbench({("eng", "cascade"): (ENGLISH, 0.94)}, ("deu", "eng"))
    page = bench.read()
    assert (page.text, languages_of(page), bench.asked) == (ENGLISH, "eng", [("eng", "cascade")])
    assert page.caveats == ()


def test_another_language_in_latin_letters_is_told_by_its_words_and_read_with_its_data() -> None:
    readings = {("eng", "cascade"): (AS_ENGLISH, 0.92), ("deu", "cascade"): (GERMAN, 0.95)}
    page = Workbench(readings, ("deu", "eng")).read()
    assert (page.text, languages_of(page), page.caveats) == (GERMAN, "deu", ())
    assert [(one.languages, one.kept) for one in page.attempts] == [("eng", False), ("deu", True)]


def test_without_its_data_paddle_reads_what_it_knows() -> None:
    bench = Workbench({("eng", "cascade"): (AS_ENGLISH, 0.92), ("deu", "paddle"): (GERMAN, 0.99)})
    assert bench.read().text == GERMAN
    chinese = Workbench(
        {("eng", "cascade"): ("#4 F", 0.3), ("chi_sim", "paddle"): (CHINESE, 0.99)}, detector=seen_as("Han")
    )
    page = chinese.read()
    assert (page.text, languages_of(page)) == (CHINESE, "chi_sim")


def test_bulk_work_in_one_engine_asks_no_other() -> None:
    fast = OcrSettings(languages=("auto",), strategy="tesseract")
    bench = Workbench({("eng", "tesseract"): (AS_ENGLISH, 0.92)}, settings=fast)
    assert bench.read().text == AS_ENGLISH
    assert {strategy for _, strategy in bench.asked} == {"tesseract"}


def test_other_letters_are_read_with_the_data_of_their_script() -> None:
    readings = {("eng", "cascade"): ("Aorosop", 0.4), ("rus", "cascade"): (RUSSIAN, 0.95)}
    page = Workbench(readings, ("eng", "osd", "rus"), seen_as("Cyrillic")).read()
    assert (page.text, languages_of(page), page.caveats) == (RUSSIAN, "rus", ())


def test_a_script_that_is_told_wrongly_is_found_among_the_installed() -> None:
    """Greek is told as Cyrillic."""
    greek = "Η Αθήνα είναι η πρωτεύουσα και η μεγαλύτερη πόλη της Ελλάδας"
    readings = {
        ("eng", "cascade"): ("H Aenva", 0.4),
        ("rus", "cascade"): ("Н Авпуа", 0.45),
        ("ell", "cascade"): (greek, 0.92),
    }
    page = Workbench(readings, ("ell", "eng", "rus"), seen_as("Cyrillic")).read()
    assert (page.text, languages_of(page)) == (greek, "ell")


def test_a_hopeless_page_that_looks_latin_is_tried_in_what_is_installed() -> None:
    """Of few or small signs the detector says so; and what reads signs without data tells by them what they are."""
    readings = {("eng", "cascade"): ("#4 F", 0.28), ("chi_sim", "cascade"): (CHINESE, 0.92)}
    page = Workbench(readings, ("chi_sim", "eng", "rus"), seen_as("Latin")).read()
    assert (page.text, languages_of(page)) == (CHINESE, "chi_sim")


def test_what_paddle_reads_at_once_is_told_by_its_signs() -> None:
    alone = OcrSettings(languages=("auto",), strategy="paddle")
    page = Workbench({("eng", "paddle"): (f"NFL 2016 {CHINESE}", 0.99)}, settings=alone).read()
    assert (languages_of(page), page.caveats) == ("chi_sim", ())


def test_a_sibling_in_the_same_letters_is_read_in_its_own() -> None:
    readings = {
        ("eng", "cascade"): ("Kuis e", 0.44),
        ("rus", "cascade"): (UKRAINIAN, 0.74),
        ("ukr", "cascade"): (UKRAINIAN, 0.96),
    }
    page = Workbench(readings, ("eng", "rus", "ukr"), seen_as("Cyrillic")).read()
    assert (languages_of(page), page.caveats) == ("ukr", ())
    page = Workbench(readings, ("eng", "rus"), seen_as("Cyrillic")).read()
    (caveat,) = page.caveats
    assert languages_of(page) == "rus" and "tesseract-ocr-ukr" in caveat.detail


def test_letters_that_nothing_reads_are_said_with_the_fix_and_never_guessed() -> None:
    """A Thai page without Thai data."""
    readings = {("eng", "cascade"): ("us:tnalnaiioag\nMicrosoft", 0.12), ("eng", "paddle"): (". ,", 0.93)}
    page = Workbench(readings, ("eng", "rus"), seen_as("Thai")).read()
    (caveat,) = page.caveats
    assert caveat.kind is CaveatKind.LANGUAGE_MISSING and caveat.kind.weight == "unsure"
    assert "Thai" in caveat.detail and "tesseract-ocr-tha" in caveat.detail
    assert (page.text, page.failure) == ("", None)
    assert not any(one.kept for one in page.attempts)


def test_data_of_another_script_that_see_a_few_words_do_not_count() -> None:
    readings = {("eng", "cascade"): ("us:tna", 0.06), ("ara", "cascade"): ("لاك قن 2ق الاك", 0.29)}
    page = Workbench(readings, ("ara", "eng"), seen_as("Thai")).read()
    assert page.text == "" and "tesseract-ocr-tha" in page.caveats[0].detail


def test_a_bad_scan_in_latin_letters_that_looks_like_another_script_is_still_read() -> None:
    readings = {("eng", "cascade"): ("Tne w0rds", 0.66)}
    page = Workbench(readings, ("ara", "eng"), seen_as("Arabic")).read()
    assert (page.text, page.caveats) == ("Tne w0rds", ())
    hopeless = {("eng", "cascade"): ("~ ;", 0.3), ("eng", "paddle"): (ENGLISH, 0.95)}
    page = Workbench(hopeless, ("eng",), seen_as("Arabic")).read()
    assert (page.text, languages_of(page)) == (ENGLISH, "eng")


@pytest.mark.parametrize(("letters", "kept"), [(0.92, True), (0.87, False)])
def test_of_doubtful_letters_paddle_has_to_be_sure_of_the_letters_not_of_rows_of_stars(
    letters: float, kept: bool
) -> None:
    receipt = f"{ENGLISH} {'*' * 60}"
    readings = {("eng", "cascade"): ("~ ;", 0.3), ("eng", "paddle"): (receipt, 0.82)}
    page = Workbench(readings, ("eng",), seen_as("Greek"), letters=letters).read()
    assert page.text == (receipt if kept else "")


@pytest.mark.parametrize("script", ["Arabic", "Latin", "", "Thai"])
def test_what_another_cut_of_the_page_makes_legible_is_kept_whatever_the_letters_look_like(script: str) -> None:
    """English that its first reading has at .45, and that psm 6 reads."""
    bench = Workbench({("eng", "cascade"): ("Tbe c0ntr", 0.45)}, ("ara", "eng", "rus"), seen_as(script))
    bench.finished = {("eng", "cascade"): (ENGLISH, 0.9)}
    page = bench.read()
    assert (page.text, page.caveats, page.confidence) == (ENGLISH, (), 0.9)
    tries = {"Arabic": 3, "Thai": 3}  # the page itself, and one look at it with each of the two other data
    assert len(bench.asked) == tries.get(script, 1) and bench.detector.surveys == 1


def test_a_photo_is_in_no_script_however_its_detector_answers() -> None:
    """Shades that run into one another, a few of them dark enough for ink."""
    shades = np.random.default_rng(1).integers(20, 240, (6, 8)).astype(np.uint8)
    photo = np.asarray(cv2.resize(shades, (800, 600), interpolation=cv2.INTER_CUBIC))
    bench = Workbench({("eng", "cascade"): ("a ~", 0.2)}, ("ara", "eng"), seen_as("Arabic"))
    page = bench.read(photo)
    assert (page.text, page.caveats, bench.asked) == ("a ~", (), [("eng", "cascade")])
    assert bench.detector.surveys == 0


def test_a_doubtful_page_that_others_data_read_is_tried_in_the_told_letters_alone() -> None:
    readings = {("eng", "cascade"): ("Tne w0rds", 0.62)}
    bench = Workbench(readings, ("ara", "ell", "eng", "heb", "rus"), seen_as("Arabic"))
    assert bench.read().text == "Tne w0rds"
    assert bench.asked == [("eng", "cascade"), ("ara", "cascade")]


def test_all_tries_of_a_page_share_one_limit() -> None:
    readings = {("eng", "cascade"): ("#4 F", 0.3)}
    many = ("ara", "ell", "eng", "heb", "rus", "tha")
    bench = Workbench(readings, many, seen_as("Thai"), costs=40)
    bench.settings = OcrSettings(languages=("auto",), engine_seconds=90)
    page = bench.read()
    assert [name for name, _ in bench.asked] == ["eng", "tha", "ara"], "then the time is up"
    assert set(bench.deadlines) == {90.0}
    assert "tesseract-ocr-tha" in page.caveats[0].detail


def test_a_page_that_surely_lies_is_turned_by_the_reader_of_its_letters() -> None:
    readings = {("eng", "cascade"): ("#4 F", 0.3), ("rus", "cascade"): ("~", 0.2)}
    bench = Workbench(readings, ("eng", "rus"), seen_as("Cyrillic"), finished={("rus", "cascade"): (RUSSIAN, 0.9)})
    assert bench.read().text != RUSSIAN, "upright its first reading has to be legible"
    bench.detector.lies = True
    assert bench.read().text == RUSSIAN


def test_a_page_on_its_head_is_no_other_script() -> None:
    on_its_head = FakeEngine([(line(ENGLISH, 0.93),)], rotations=(180,), letters="Arabic")
    bench = Workbench({("eng", "cascade"): (ENGLISH, 0.4)}, ("ara", "eng"), on_its_head)
    assert (bench.read().text, bench.asked) == (ENGLISH, [("eng", "cascade")])


@pytest.mark.parametrize("error", [MISSING, CRASH])
def test_without_the_detector_what_is_installed_is_tried(error: Exception) -> None:
    readings = {("eng", "cascade"): ("Aorosop", 0.4), ("rus", "cascade"): (RUSSIAN, 0.95)}
    page = Workbench(readings, ("eng", "rus"), seen_as(error)).read()
    assert languages_of(page) == "rus"
    nothing = Workbench({("eng", "cascade"): ("Aorosop", 0.4)}, ("eng",), seen_as(error)).read()
    assert "aos languages list" in nothing.caveats[0].detail


def test_an_engine_that_dies_in_the_other_language_leaves_the_page_said() -> None:
    readings = {("eng", "cascade"): (AS_ENGLISH, 0.92), ("deu", "cascade"): CRASH}
    page = Workbench(readings, ("deu", "eng")).read()
    assert page.text == AS_ENGLISH


def test_names_beside_auto_are_tried_first() -> None:
    told = OcrSettings(languages=("auto", "deu"))
    bench = Workbench({("deu", "cascade"): (GERMAN, 0.95)}, ("deu", "eng"), settings=told)
    assert (languages_of(bench.read()), bench.asked) == ("deu", [("deu", "cascade")])


def test_japanese_is_read_downwards_too_where_there_is_data_for_that() -> None:
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    readings = {("eng", "cascade"): ("B", 0.2), ("jpn+jpn_vert", "cascade"): (text, 0.9)}
    page = Workbench(readings, ("eng", "jpn", "jpn_vert"), seen_as("Japanese")).read()
    assert (page.text, languages_of(page)) == (text, "jpn+jpn_vert")


def test_readers_of_many_languages_do_not_pile_up() -> None:
    """Each has a process; the one that was unused longest is ended before another begins."""
    korean = "서울은 대한민국의 수도이자 최대 도시이며 많은 대학교와 박물관이 있다"
    readings = {("eng", "cascade"): ("#4 F", 0.3), ("kor", "cascade"): (korean, 0.9)}
    bench = Workbench(readings, ("ara", "ell", "eng", "heb", "jpn", "kor", "rus", "tam"), seen_as("Thai"))
    reader = bench.make()
    assert "tesseract-ocr-tha" in reader.read(page_picture(), 1).caveats[0].detail and bench.closed == []
    bench.detector.letters = "Korean"
    assert reader.read(page_picture(), 2).text == korean
    assert len(bench.closed) == len(set(bench.asked)) - MOST_OPEN == 1 and "eng" not in bench.closed


def test_what_another_languages_data_mistook_is_told_by_the_signs_that_paddle_saw() -> None:
    """Data of Japanese see signs of traditional Chinese in a text that has none."""
    mistaken = "本合同有效期為兩年未經雙方書面同意不得續簽買方應在月底前付清全部款項"
    readings: dict[tuple[str, str], tuple[str, float] | Exception] = {
        ("eng", "cascade"): ("B A", 0.2),
        ("jpn", "cascade"): (mistaken, 0.6),
        ("chi_tra", "paddle"): (CHINESE, 0.99),
    }
    bench = Workbench(readings, installed=("eng", "jpn"), detector=seen_as("Japanese"))
    page = bench.read()
    assert ("chi_tra", "paddle") in bench.asked and page.text == CHINESE and languages_of(page) == "chi_sim"


def test_columns_that_paddle_alone_read_say_that_some_may_be_missing() -> None:
    """Its detector finds half of them and is sure of those."""
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    readings = {("eng", "cascade"): ("B", 0.2), ("jpn", "paddle"): (text, 0.99)}
    page = Workbench(readings, detector=seen_as("Japanese"), downwards=True).read()
    assert page.text == text and "tesseract-ocr-jpn-vert" in page.caveats[0].detail
    assert Workbench(readings, detector=seen_as("Japanese")).read().caveats == ()


@pytest.mark.parametrize(
    ("text", "script", "name"),
    [
        (RUSSIAN, "Cyrillic", "rus"),
        (UKRAINIAN, "Cyrillic", "ukr"),
        (CHINESE, "Han", "chi_sim"),
        ("本合同有效期為兩年，未經雙方書面同意，不得續簽，買方應在月底前付清全部款項", "Han", "chi_tra"),
        ("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。", "Japanese", "jpn"),
        ("서울은 대한민국의 수도이자 최대 도시이며 많은 대학교와 박물관이 있다", "Korean", "kor"),
        ("ประเทศไทยตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้", "Thai", "tha"),
    ],
)
def test_script_and_language_are_told_by_letters_and_words(text: str, script: str, name: str) -> None:
    found = identify_language(text)
    assert found is not None and (script_of_text(text), found.script, found.name) == (script, script, name)


def test_few_letters_tell_no_language() -> None:
    assert script_of_text("12.50 !") == "" and identify_language("Да") is None and identify_language(ENGLISH) is None
