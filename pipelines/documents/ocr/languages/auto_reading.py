"""Reads each page in its own language: a first reading tells which, and what is installed for that reads it again."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

from configs.sections import OcrSettings
from pipelines.documents.cpu_pulses import own_cpu_seconds
from pipelines.documents.document import EngineAttempt, Page, Unreadable
from pipelines.documents.ocr import missing_language, paddle
from pipelines.documents.ocr.cascade import OcrCascade, build_cascade
from pipelines.documents.ocr.easyocr import PACKAGED
from pipelines.documents.ocr.languages.first_languages import AUTO, FirstLook, first_languages
from pipelines.documents.ocr.languages.installed import installed_languages
from pipelines.documents.ocr.languages.scripts import (
    EAST_ASIAN,
    EAST_ASIAN_SCRIPTS,
    FEW_LETTERS,
    identify_language,
    identify_latin,
    script_of_text,
)
from pipelines.documents.ocr.languages.unread_page import (
    unread_caveat,
    unread_page,
    with_column_doubt,
    with_unread_caveat,
)
from pipelines.documents.ocr.letter_rows import ENOUGH_FOR_SCRIPT, seems_to_hold_text
from pipelines.documents.ocr.missing_language import LATIN, SCRIPTS, UNSURE
from pipelines.documents.ocr.preprocess import PreparedPage, rotate_page
from pipelines.documents.ocr.reading import EngineMissing, LetterSurvey, Picture, TextLine, mean_confidence
from pipelines.documents.ocr.tesseract import TesseractEngine

# In a script that was not learnt: letters of fifteen scripts read as English came to .12 to .45, the worst receipts and
# forms in English to more.
HOPELESS: Final = 0.5
GAIN: Final = 0.15  # of confidence, by which a page in other letters reads better with the data of its own
# PP-OCR's confidence of the letters of a page. Of receipts in letters that it knows it is .92 and more, though their
# rows of stars and dashes are doubtful; of rendered pages in scripts that it never learnt at most .87 (Greek).
SURE_PADDLE: Final = 0.9
MOST_OPEN: Final = 7  # readers with processes of their own, some 100 MB each; the longest unused one is ended
MOST_TRIED: Final = 5  # languages of one page; each costs a reading
# Probability from which on words tell a language that the page was not read in: data of Russian turn Ukrainian into
# words that are Ukrainian for .88. From the first on it is read in that if there is data, and kept if it reads better.
WORTH_TRYING, LIKELY = 0.5, 0.8


class ReadInstead(Exception):
    """A page reads better in another language than in the first: nothing dearer is tried in that."""

    def __init__(self, page: Page) -> None:
        """`page` is as it was read instead."""
        super().__init__()
        self.page = page


class NotItsLanguage(Exception):
    """A page does not read better in these languages than it did at first."""


@dataclass(frozen=True, slots=True)
class LanguageChoice:
    """Languages to read a page in, by Tesseract's names, and by which strategy of OCR."""

    languages: tuple[str, ...]
    strategy: str


@dataclass(frozen=True, slots=True)
class FirstReading:
    """The first reading of a page, and what was found out about it."""

    view: PreparedPage
    lines: tuple[TextLine, ...]
    script: str = LATIN  # Tesseract's name; "" where it could not be told
    lies: bool = False  # whether the page surely stands on its head or its side

    @property
    def confidence(self) -> float:
        """Mean over its words."""
        return mean_confidence(self.lines)


@dataclass(slots=True)
class _PageWork:
    """One page on its way: its picture, the time that all tries have together, and what they came to."""

    image: Picture
    number: int
    dpi: int | None
    deadline: float  # by the reader's CPU clock
    view: PreparedPage | None = None  # the picture as the first try has prepared it, for those that follow
    found: FirstReading | None = None  # where its letters are in doubt
    noted: list[EngineAttempt] = field(default_factory=list)  # what was tried in vain


class LetterDetector(Protocol):
    """Tells how a page stands and in which letters: the engine of the first reading."""

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        """As `PageEngine.read`."""

    def survey_letters(self, image: Picture, *, seconds: float) -> LetterSurvey:
        """Both in one look. Raises Unreadable, EngineMissing: as `read`."""


class PageCascade(Protocol):
    """Reads pages in some languages."""

    def read(
        self,
        image: Picture,
        number: int,
        dpi: int | None = None,
        look: FirstLook | None = None,
        deadline: float = math.inf,
        view: PreparedPage | None = None,
    ) -> Page:
        """As `OcrCascade.read`."""

    def close(self) -> None:
        """As `OcrCascade.close`."""


class AutoLanguageReader:
    """Reads pages of any language that there is something for; others say what is missing."""

    def __init__(
        self,
        settings: OcrSettings,
        detector: LetterDetector,
        installed: Callable[[], Sequence[str]],
        build: Callable[[OcrSettings], PageCascade],
        cpu_clock: Callable[[], float] = own_cpu_seconds,
    ) -> None:
        """`installed` gives the languages that there is data for, `build` a reader in the languages of settings.

        `cpu_clock` is that of the readers: what a page may cost (ocr.engine_seconds) holds for all tries together.
        """
        self._cpu_clock = cpu_clock
        self._settings, self._detector, self._build = settings, detector, build
        self._find_installed = installed
        self._first = first_languages(settings.languages)
        self._readers: dict[LanguageChoice, PageCascade] = {}

    def read(self, image: Picture, number: int, dpi: int | None = None) -> Page:
        """Read one page, as `OcrCascade.read`; its attempts name the languages they read in. Raises as that."""
        work = _PageWork(image, number, dpi, self._cpu_clock() + self._settings.engine_seconds)
        return with_column_doubt(self._read_own(work))

    def _read_own(self, work: _PageWork) -> Page:
        first = self._reader(LanguageChoice(self._first, self._settings.strategy))
        look = partial(self._look, work)
        try:
            page = first.read(work.image, work.number, work.dpi, look=look, deadline=work.deadline)
        except ReadInstead as other:
            return _after(work.noted, other.page)
        return self._settle_hopeless(self._settle_first(page, work), work)

    def _settle_first(self, page: Page, work: _PageWork) -> Page:
        """A page that every engine has read for the first languages, in the one that its text turns out to be in."""
        if [one.engine for one in page.attempts] == ["tesseract"]:  # whose text was looked at
            return _with_languages(page, self._first)
        other = identify_language(page.text)
        if other is not None:  # PP-OCR has one model for all that it reads
            return _with_languages(page, (other.name,))
        page = _with_languages(page, self._first)
        found = self._other_latin(page.text, self._first)  # of a page that stood on its side at first
        again = found and self._try_choice(found, page.confidence or 0.0, work)
        return _after(page.attempts, again) if again else page

    def _settle_hopeless(self, page: Page, work: _PageWork) -> Page:
        """A page whose letters are in doubt after all that the first languages have: by PP-OCR, or said to be unread.

        What turning it, cutting it up otherwise or other engines made legible stands.
        """
        found = work.found
        page = replace(page, attempts=(*page.attempts, *work.noted))
        if found is None or found.confidence >= HOPELESS or _is_legible(page):
            return page
        if found.script == LATIN:  # of few or small signs of East Asia the detector says so
            again = self._try_all(self._candidates(EAST_ASIAN_SCRIPTS), found, work)
            return _after(page.attempts, again) if again else page
        asked = any(one.engine == "paddle" for one in page.attempts)
        again = None if asked or self._settings.strategy == "tesseract" else self._try_paddle(work)
        if again is not None:
            return _after(page.attempts, again)
        if not found.script:
            return with_unread_caveat(page)
        return unread_page(page, work.image, found.view, found.lines, found.script)

    def _look(self, work: _PageWork, view: PreparedPage, lines: tuple[TextLine, ...], *, seconds: float) -> None:
        """Judge the first reading. Raises ReadInstead: the page reads better in another language, or other letters."""
        work.view = view
        text, sure = "\n".join(line.text for line in lines), mean_confidence(lines)
        if sure >= UNSURE:
            if (choice := self._other_latin(text, self._first)) is not None:
                self._read_instead((choice,), FirstReading(view, lines), work)
            return
        # Of a photo, a stamp or a logo any script is told: only of enough signs in rows it means something.
        if not seems_to_hold_text(view.image, view.dpi, ENOUGH_FOR_SCRIPT):
            return
        script, lies = "", False
        try:
            seen = self._detector.survey_letters(view.image, seconds=seconds)
            script, lies = seen.script, seen.lies
            if not script or self._reads_turned(view, seen.turns, sure, seconds):
                return
        except (Unreadable, EngineMissing):
            if sure >= HOPELESS:
                return
        work.found = FirstReading(view, lines, script, lies)
        if script != LATIN:
            # A page that others' data read at all is in its own letters or the ones told; a hopeless one in any.
            scripts = dict.fromkeys((script, *SCRIPTS)) if sure < HOPELESS else (script,)
            self._read_instead(self._candidates(scripts), work.found, work)

    def _reads_turned(self, view: PreparedPage, turns: Sequence[int], sure: float, seconds: float) -> bool:
        """True where the page reads far better once it is turned: letters on their heads look like any script."""
        for degrees in turns:
            turned = rotate_page(view, degrees)
            lines = self._detector.read(turned.image, dpi=turned.dpi, layout=None, seconds=seconds)
            if mean_confidence(lines) >= max(HOPELESS, sure + GAIN):
                return True
        return False

    def _other_latin(self, text: str, languages: Sequence[str]) -> LanguageChoice | None:
        """The language that the words of a text in Latin letters are in, where it was read in another."""
        found = missing_language.latin_doubt(text, languages) if script_of_text(text) == LATIN else None
        return None if found is None else self._choice_of(found[1], self._find_installed())

    def _candidates(self, scripts: Iterable[str]) -> tuple[LanguageChoice, ...]:
        """What may read a page in such letters, the likeliest of them first.

        The detector errs (Greek is told as Cyrillic, for one): of the others one language each that is installed.
        """
        installed = self._find_installed()
        chosen: dict[LanguageChoice, None] = {}
        for at, one in enumerate(scripts):
            names = SCRIPTS.get(one, ())
            found = next((choice for name in names if (choice := self._choice_of(name, installed))), None)
            if found is not None and (at == 0 or set(found.languages) <= set(installed)):
                chosen[found] = None
        return tuple(chosen)[:MOST_TRIED]

    def _choice_of(self, name: str, installed: Sequence[str]) -> LanguageChoice | None:
        """How a language is read here: by its data with everything that may help, or by PP-OCR alone; None if not."""
        strategy = self._settings.strategy
        if name in installed:
            downwards = f"{name}_vert"  # the data of text that runs downwards reads nothing else, and harms nothing
            return LanguageChoice((name, downwards) if downwards in installed else (name,), strategy)
        return LanguageChoice((name,), "paddle") if name in paddle.LANGUAGES and strategy != "tesseract" else None

    def _read_instead(self, choices: Sequence[LanguageChoice], found: FirstReading, work: _PageWork) -> None:
        page = self._try_all(choices, found, work)
        if page is not None:
            first = EngineAttempt("tesseract", round(found.confidence, 4), 0, False, *_told(found, self._first))
            work.noted.insert(0, first)
            raise ReadInstead(page)

    def _try_all(self, choices: Sequence[LanguageChoice], found: FirstReading, work: _PageWork) -> Page | None:
        """The page in the first of these languages that it reads better in; None where it does in none."""
        # Data of Arabic see their words in Thai, too, at .29; the worst page in its own letters came to .77.
        least = max(HOPELESS, found.confidence + (GAIN if found.confidence < UNSURE else -GAIN))
        for at, choice in enumerate(choices):
            # What surely lies is legible in no data before its reader has turned it.
            page = self._try_choice(choice, least, work, check=at > 0 or not found.lies)
            if page is not None:
                return self._read_sibling(page, choice, work)
            languages = "+".join(choice.languages)
            work.noted.append(EngineAttempt(_engine_of(choice), 0.0, 0, False, "no better in", languages))
        return None

    def _try_paddle(self, work: _PageWork) -> Page | None:
        """The page by PP-OCR, which needs no data; None where it sees few letters, or is not sure of them."""
        page = self._try_choice(LanguageChoice(self._first, "paddle"), HOPELESS, work)
        return page if page is not None and _is_legible(page) else None

    def _read_sibling(self, page: Page, choice: LanguageChoice, work: _PageWork) -> Page:
        """The page in the language that its words turn out to be in, where others are written in the same letters."""
        found = identify_language(page.text) or identify_latin(page.text)
        if found is None or found.name in choice.languages or found.probability < WORTH_TRYING:
            return page
        if found.script in ("Han", "Japanese") and choice.strategy == "paddle":
            return page  # it has one model for them
        sibling = self._choice_of(found.name, self._find_installed())
        again = sibling and self._try_choice(sibling, page.confidence or 0.0, work)
        if again:
            return _after(page.attempts, again)
        if found.script == LATIN or found.name in EAST_ASIAN or found.probability < LIKELY:
            return page
        return replace(page, caveats=(*page.caveats, unread_caveat(f"the words look {found.name}", found.name)))

    def _try_choice(self, choice: LanguageChoice, least: float, work: _PageWork, check: bool = False) -> Page | None:
        """The page so read; None where it comes to less than `least` confidence, or cannot be read so in time.

        With `check` the first reading has to come to that already: before others are tried, which cost more.
        """
        if self._cpu_clock() >= work.deadline:
            return None
        look = partial(_refuse_worse, least) if check and choice.strategy != "paddle" else None
        try:
            page = self._reader(choice).read(work.image, work.number, work.dpi, look, work.deadline, work.view)
        except (NotItsLanguage, Unreadable, EngineMissing):
            return None
        return None if (page.confidence or 0.0) < least else _with_languages(page, _told_languages(page, choice))

    def _reader(self, choice: LanguageChoice) -> PageCascade:
        if choice in self._readers:
            self._readers[choice] = self._readers.pop(choice)  # the last used stands last
        else:
            if len(self._readers) >= MOST_OPEN:
                self._readers.pop(next(iter(self._readers))).close()
            told: dict[str, object] = {"languages": choice.languages, "strategy": choice.strategy}
            if self._settings.easyocr_models is None and not set(choice.languages) <= set(PACKAGED):
                told["easyocr_max_lines"] = 0  # it has no models for them
            self._readers[choice] = self._build(self._settings.model_copy(update=told))
        return self._readers[choice]


def _told_languages(page: Page, choice: LanguageChoice) -> tuple[str, ...]:
    """Languages that a page so read is in; PP-OCR has one model for all that it reads, so that its text tells."""
    found = identify_language(page.text) if choice.strategy == "paddle" else None
    return choice.languages if found is None else (found.name,)


def _refuse_worse(least: float, view: PreparedPage, lines: tuple[TextLine, ...], *, seconds: float) -> None:
    if mean_confidence(lines) < least:
        raise NotItsLanguage


def build_page_reader(settings: OcrSettings) -> OcrCascade | AutoLanguageReader:
    """What reads pictures of pages by these settings, with the real engines."""
    if settings.strategy == "vision":  # that is a model's look at what the engines have read
        settings = settings.model_copy(update={"strategy": "cascade"})
    if AUTO not in settings.languages:
        return build_cascade(settings)
    second = paddle.PaddleEngine(settings.memory_bytes) if settings.strategy != "tesseract" else None
    detector = TesseractEngine(
        first_languages(settings.languages), memory_bytes=settings.memory_bytes, data=settings.tesseract_data
    )
    find = partial(installed_languages, own=settings.tesseract_data)
    return AutoLanguageReader(settings, detector, find, partial(build_cascade, second=second))


def _is_legible(page: Page) -> bool:
    """True for words that may stand though the letters were in doubt.

    Of letters that it never learnt PP-OCR writes marks and blanks, and of Greek its unaccented half: it has to be sure.
    """
    paddle_read = "paddle" in page.engine
    sure = _letter_confidence(page) >= SURE_PADDLE if paddle_read else (page.confidence or 0.0) >= HOPELESS
    return sure and sum(map(str.isalpha, page.text)) >= FEW_LETTERS


def _letter_confidence(page: Page) -> float:
    """Mean confidence of the words that hold letters, each by its length; 0 without such a word.

    Words of marks alone (rows of stars, rules) tell nothing about the script of a page.
    """
    words = [word for word in page.words if any(map(str.isalpha, word.text))]
    size = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / size if size else 0.0


def _told(found: FirstReading, languages: Sequence[str]) -> tuple[str, str]:
    why = "its words are in another language" if found.confidence >= UNSURE else f"letters look {found.script or '?'}"
    return why, "+".join(languages)


def _engine_of(choice: LanguageChoice) -> str:
    return "paddle" if choice.strategy == "paddle" else "tesseract"


def _with_languages(page: Page, languages: Sequence[str]) -> Page:
    told = "+".join(languages)
    return replace(page, attempts=tuple(replace(one, languages=told) for one in page.attempts))


def _after(tried: Sequence[EngineAttempt], page: Page) -> Page:
    """A page with what was tried before it."""
    before = (replace(attempt, kept=False) for attempt in tried)
    return replace(page, attempts=(*before, *page.attempts))
