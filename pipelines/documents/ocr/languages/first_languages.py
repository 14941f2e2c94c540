"""Languages in which a page is read first, those that are set or English, and the port of who judges that reading."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from configs.sections import OcrSettings

if TYPE_CHECKING:  # who only names languages need not load what works on pictures
    from pipelines.documents.ocr.preprocess import PreparedPage
    from pipelines.documents.ocr.reading import TextLine

AUTO: Final = "auto"
"""Among the languages of OCR: each page is read in its own, the others named are tried first."""

FALLBACK: Final = ("eng",)


def first_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """The languages that are named beside `auto`; English where none is."""
    return tuple(name for name in languages if name != AUTO) or FALLBACK


def with_first_languages(settings: OcrSettings) -> OcrSettings:
    """Settings that name languages only, as engines take them."""
    if AUTO not in settings.languages:
        return settings
    return settings.model_copy(update={"languages": first_languages(settings.languages)})


class FirstLook(Protocol):
    """Judges the first reading of a page, before anything dearer is tried."""

    def __call__(self, view: "PreparedPage", lines: "tuple[TextLine, ...]", *, seconds: float) -> None:
        """Raise where the page is to be read otherwise; for at most `seconds` of CPU."""
