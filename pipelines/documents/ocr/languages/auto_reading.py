"""Reads each page in its own language: a first reading tells which, and what is installed for that reads it again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Final, Protocol

from configs.sections import OcrSettings
from pipelines.documents.document import Caveat, CaveatKind, EngineAttempt, Page, Unreadable
from pipelines.documents.ocr import missing_language, paddle
from pipelines.documents.ocr.cascade import OcrCascade, build_cascade
from pipelines.documents.ocr.compose import compose_page
from pipelines.documents.ocr.easyocr import PACKAGED
from pipelines.documents.ocr.installed import installed_languages, package_of
from pipelines.documents.ocr.languages.first_languages import AUTO, FirstLook, first_languages
from pipelines.documents.ocr.languages.scripts import (
    EAST_ASIAN,
    FEW_LETTERS,
    identify_language,
    identify_latin,
    script_of_text,
)
from pipelines.documents.ocr.missing_language import LATIN, SCRIPTS, UNSURE
from pipelines.documents.ocr.preprocess import PreparedPage, rotate_page
from pipelines.documents.ocr.reading import EngineMissing, Picture, TextLine, mean_confidence
from pipelines.documents.ocr.tesseract import TesseractEngine

# In a script that was not learnt: letters of fifteen scripts read as English came to .12 to .45, the worst receipts and
# forms in English to more.
HOPELESS: Final = 0.5
GAIN: Final = 0.15  # of confidence, by which a page in other letters reads better with the data of its own
SURE_PADDLE: Final = 0.85  # PP-OCR's of a page; .99 where it knows the letters, of Greek .76
SURE_WORD: Final = 0.8  # of a page whose letters nothing here reads: words that stay, such as names in Latin letters
MOST_OPEN: Final = 7  # readers with processes of their own, some 100 MB each; the longest unused one is ended
MOST_TRIED: Final = 5  # languages of one page; each costs a reading
# Probability from which on words tell a language that the page was not read in: data of Russian turn Ukrainian into
# words that are Ukrainian for .88. From the first on it is read in that if there is data, and kept if it reads better.
WORTH_TRYING, LIKELY = 0.5, 0.8


class ReadInstead(Exception):
    """A page whose first reading shows that it is to be read in other languages than the first."""

    def __init__(self, found: "FirstReading", candidates: tuple["LanguageChoice", ...]) -> None:
        """`candidates` are tried in turn."""
        super().__init__(found.script)
        self.found, self.candidates = found, candidates


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
    turned: bool = False  # whether the page may stand on its head or its side
    languages: tuple[str, ...] = field(default=())  # that it was read in

    @property
    def confidence(self) -> float:
        """Mean over its words."""
        return mean_confidence(self.lines)


class LetterDetector(Protocol):
    """Tells how a page stands and in which letters: the engine of the first reading."""

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        """As `PageEngine.read`."""

    def turns(self, image: Picture, *, seconds: float) -> tuple[int, ...]:
        """As `PageEngine.turns`."""

    def script(self, image: Picture, *, seconds: float) -> str:
        """As `PageEngine.script`."""


class PageCascade(Protocol):
    """Reads pages in some languages."""

    def read(self, image: Picture, number: int, dpi: int | None = None, look: FirstLook | None = None) -> Page:
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
    ) -> None:
        """`installed` gives the languages that there is data for, `build` a reader in the languages of settings."""
        self._settings, self._detector, self._build = settings, detector, build
        self._find_installed = installed
        self._first = first_languages(settings.languages)
        self._readers: dict[LanguageChoice, PageCascade] = {}

    def read(self, image: Picture, number: int, dpi: int | None = None) -> Page:
        """Read one page, as `OcrCascade.read`; its attempts name the languages they read in. Raises as that."""
        return _with_column_doubt(self._read_own(image, number, dpi))

    def _read_own(self, image: Picture, number: int, dpi: int | None) -> Page:
        first = LanguageChoice(self._first, self._settings.strategy)
        try:
            page = self._reader(first).read(image, number, dpi, look=self._look)
        except ReadInstead as other:
            return self._read_instead(other, image, number, dpi)
        return self._settle_first(page, image, number, dpi)

    def _settle_first(self, page: Page, image: Picture, number: int, dpi: int | None) -> Page:
        """A page that every engine has read for the first languages, in the one that its text turns out to be in."""
        if [one.engine for one in page.attempts] == ["tesseract"]:  # whose text was looked at
            return _with_languages(page, self._first)
        other = identify_language(page.text)
        if other is not None:  # PP-OCR has one model for all that it reads
            return _with_languages(page, (other.name,))
        page = _with_languages(page, self._first)
        found = self._other_latin(page.text, self._first)  # of a page that stood on its side at first
        again = found and self._try_choice(found, page.confidence or 0.0, image, number, dpi)
        return _after(page.attempts, again) if again else page

    def _look(self, view: PreparedPage, lines: tuple[TextLine, ...], *, seconds: float) -> None:
        """Judge the first reading. Raises ReadInstead: it is in another language, or in other letters."""
        text, sure = "\n".join(line.text for line in lines), mean_confidence(lines)
        if sure >= UNSURE:
            if (found := self._other_latin(text, self._first)) is not None:
                raise ReadInstead(FirstReading(view, lines, languages=self._first), (found,))
            return
        try:
            script = self._detector.script(view.image, seconds=seconds)
            turns = self._detector.turns(view.image, seconds=seconds)
            if self._reads_turned(view, turns, sure, seconds):
                return
        except (Unreadable, EngineMissing):
            script, turns = "", ()
        if script in ("", LATIN) and sure >= HOPELESS:
            return
        raise ReadInstead(FirstReading(view, lines, script, bool(turns), self._first), self._candidates(script))

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

    def _candidates(self, script: str) -> tuple[LanguageChoice, ...]:
        """What may read a page in such letters, the likeliest first; of other letters, too: the detector errs.

        Greek is told as Cyrillic, for one: so one language of each other script that is installed is tried as well.
        """
        installed = self._find_installed()
        scripts = dict.fromkeys((script, *SCRIPTS)) if script else dict.fromkeys(SCRIPTS)
        chosen: dict[LanguageChoice, None] = {}
        for one in scripts:
            names = SCRIPTS.get(one, ())
            found = next((choice for name in names if (choice := self._choice_of(name, installed))), None)
            if found is not None and (one == script or set(found.languages) <= set(installed)):
                chosen[found] = None
        return tuple(chosen)[:MOST_TRIED]

    def _choice_of(self, name: str, installed: Sequence[str]) -> LanguageChoice | None:
        """How a language is read here: by its data with everything that may help, or by PP-OCR alone; None if not."""
        strategy = self._settings.strategy
        if name in installed:
            downwards = f"{name}_vert"  # the data of text that runs downwards reads nothing else, and harms nothing
            return LanguageChoice((name, downwards) if downwards in installed else (name,), strategy)
        return LanguageChoice((name,), "paddle") if name in paddle.LANGUAGES and strategy != "tesseract" else None

    def _read_instead(self, other: ReadInstead, image: Picture, number: int, dpi: int | None) -> Page:
        found = other.found
        noted = [EngineAttempt("tesseract", round(found.confidence, 4), 0, False, *_told(found))]
        for choice in other.candidates:
            # Data of Arabic see their words in Thai, too, at .29; the worst page in its own letters came to .77.
            least = max(HOPELESS, found.confidence + (GAIN if found.confidence < UNSURE else -GAIN))
            page = self._try_choice(choice, least, image, number, dpi, check=not found.turned)
            if page is not None:
                return _after(noted, self._read_sibling(page, choice, image, number, dpi))
            noted.append(EngineAttempt(_engine_of(choice), 0.0, 0, False, "no better in", "+".join(choice.languages)))
        if found.confidence < HOPELESS and found.script != LATIN:
            page = self._try_paddle(image, number, dpi) if self._settings.strategy != "tesseract" else None
            return _unread_page(found, number, image, noted) if page is None else _after(noted, page)
        page = self._reader(LanguageChoice(self._first, self._settings.strategy)).read(image, number, dpi)
        return _after(noted, self._settle_first(page, image, number, dpi))

    def _try_paddle(self, image: Picture, number: int, dpi: int | None) -> Page | None:
        """The page by PP-OCR, which needs no data; None where it sees few letters, or is not sure of them.

        Of letters that it never learnt it writes marks and blanks, and of Greek its unaccented half.
        """
        page = self._try_choice(LanguageChoice(self._first, "paddle"), SURE_PADDLE, image, number, dpi)
        if page is None or sum(map(str.isalpha, page.text)) < FEW_LETTERS:
            return None
        found = identify_language(page.text)
        return page if found is None else _with_languages(page, (found.name,))

    def _read_sibling(self, page: Page, choice: LanguageChoice, image: Picture, number: int, dpi: int | None) -> Page:
        """The page in the language that its words turn out to be in, where others are written in the same letters."""
        found = identify_language(page.text) or identify_latin(page.text)
        if found is None or found.name in choice.languages or found.probability < WORTH_TRYING:
            return page
        if found.script in ("Han", "Japanese") and choice.strategy == "paddle":
            return _with_languages(page, (found.name,))  # it has one model for them
        sibling = self._choice_of(found.name, self._find_installed())
        again = sibling and self._try_choice(sibling, page.confidence or 0.0, image, number, dpi)
        if again:
            return _after(page.attempts, again)
        if found.script == LATIN or found.name in EAST_ASIAN or found.probability < LIKELY:
            return page
        return replace(page, caveats=(*page.caveats, _unread_caveat(f"the words look {found.name}", found.name)))

    def _try_choice(
        self, choice: LanguageChoice, least: float, image: Picture, number: int, dpi: int | None, check: bool = False
    ) -> Page | None:
        """The page so read; None where it comes to less than `least` confidence, or cannot be read so.

        With `check` the first reading has to come to that already: before others are tried, which cost more.
        """
        look = partial(_refuse_worse, least) if check and choice.strategy != "paddle" else None
        try:
            page = self._reader(choice).read(image, number, dpi, look=look)
        except (NotItsLanguage, Unreadable, EngineMissing):
            return None
        return None if (page.confidence or 0.0) < least else _with_languages(page, choice.languages)

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


def _unread_page(found: FirstReading, number: int, image: Picture, noted: Sequence[EngineAttempt]) -> Page:
    """A page in letters that nothing here reads: what stands on it in others stays, and what would help is said."""
    kept = tuple(
        replace(line, tokens=tokens)
        for line in found.lines
        if (tokens := tuple(token for token in line.tokens if token.confidence >= SURE_WORD))
    )
    text, words = compose_page(kept, found.view, image.shape[1], image.shape[0])
    names = SCRIPTS.get(found.script, ())
    seen = f"the letters look {found.script}" if found.script else "the letters are of a script that could not be told"
    caveat = _unread_caveat(seen, names[0] if names else "")
    sure = round(found.confidence, 4)  # of the whole page: what was left out counts
    return Page(number, text, words, "tesseract", sure, tuple(noted), caveats=(caveat,))


def _unread_caveat(seen: str, name: str) -> Caveat:
    fix = f"Install {package_of(name)} (aos languages install {name})" if name else "See `aos languages list`"
    return Caveat(
        CaveatKind.LANGUAGE_MISSING,
        f"{seen}: nothing that is installed reads that, so words are missing or wrong. {fix} on each machine that "
        "reads, and have it read again (aos jobs retry JOB --degraded).",
    )


def _with_column_doubt(page: Page) -> Page:
    """A page of columns that run downwards says so where PP-OCR read it alone: it misses half of them, and is sure."""
    steps = [(abs(b.box.x0 - a.box.x0), b.box.y0 - a.box.y0) for a, b in pairwise(page.words)]
    downwards = sum(down > 0 and 4 * across < down for across, down in steps)
    if page.engine != "paddle" or 2 * downwards <= len(steps) or not steps:
        return page
    name = next(one.languages for one in page.attempts if one.kept).partition("+")[0]
    seen = "its lines run downwards"
    return replace(page, caveats=(*page.caveats, _unread_caveat(seen, f"{name}_vert")))


def _told(found: FirstReading) -> tuple[str, str]:
    why = "its words are in another language" if found.confidence >= UNSURE else f"letters look {found.script or '?'}"
    return why, "+".join(found.languages)


def _engine_of(choice: LanguageChoice) -> str:
    return "paddle" if choice.strategy == "paddle" else "tesseract"


def _with_languages(page: Page, languages: Sequence[str]) -> Page:
    told = "+".join(languages)
    return replace(page, attempts=tuple(replace(one, languages=told) for one in page.attempts))


def _after(tried: Sequence[EngineAttempt], page: Page) -> Page:
    """A page with what was tried before it."""
    before = (replace(attempt, kept=False) for attempt in tried)
    return replace(page, attempts=(*before, *page.attempts))
