"""Language detection: which language a text is in, and which of Postgres' stemmers cuts its words."""

import asyncio
import functools
import mmap
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

AUTO: Final = "auto"
"""A workspace's language where each chunk's own is detected."""

DEFAULT: Final = "english"
PLAIN: Final = "simple"
"""The configuration that cuts no endings and knows no stop words: of languages without a stemmer."""

# Postgres' text search configurations, and ISO 639-1.
CODES: Final[Mapping[str, str]] = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "catalan": "ca", "danish": "da", "dutch": "nl", "english": "en",
    "estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hindi": "hi", "hungarian": "hu",
    "indonesian": "id", "irish": "ga", "italian": "it", "lithuanian": "lt", "nepali": "ne", "norwegian": "no",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "serbian": "sr", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "turkish": "tr", "yiddish": "yi",
}  # fmt: skip
_STEMMERS: Final = {code: stemmer for stemmer, code in CODES.items()}
# Languages without a stemmer that would be taken for one that has, if they were not known.
_UNSTEMMED: Final = (
    *("af", "az", "be", "bg", "bn", "bs", "cs", "cy", "fa", "gl", "he", "hr", "is", "ja", "ka", "kk", "km", "ko", "lo"),
    *("lv", "mk", "mr", "ms", "my", "pl", "sk", "sl", "sq", "sw", "te", "th", "tl", "uk", "ur", "vi", "zh"),
)
SURE: Final = 0.9  # probability from which on a few words tell their language by themselves
LIKELY: Final = 0.5  # from which on a short document's text does; a long one is sure of it, or is all names
ENOUGH: Final = 80  # letters from which on a chunk may be in another language than its document
_READ: Final = 2_000  # characters of a chunk that are looked at
_READ_OF_DOCUMENT: Final = 20_000


def rank_languages(text: str) -> list[tuple[str, float]]:
    """Languages (ISO 639-1) by their probability, the likeliest first; without letters English, for what it is worth.

    No probability is high where a text is short, or all names and numbers.
    """
    if not any(char.isalpha() for char in text):
        return [(CODES[DEFAULT], 0.0)]
    return [(str(code), float(likely)) for code, likely in _detector().rank(text)]


def stemmer_of(code: str) -> str:
    """The text search configuration of a language."""
    return _STEMMERS.get(code, PLAIN)


def detect_stemmers(texts: Sequence[str]) -> list[str]:
    """The stemmer of each chunk of a document: its language's, where it tells that by itself, else the document's."""
    of_document = document_stemmer(" ".join(text[:_READ] for text in texts))
    return [chunk_stemmer(text, of_document) for text in texts]


def document_stemmer(text: str) -> str:
    """The stemmer of a document by its text, of which the beginning is enough."""
    whole = text[:_READ_OF_DOCUMENT]
    code, likely = rank_languages(whole)[0]
    return stemmer_of(code) if likely >= (LIKELY if len(whole) < _READ else SURE) else DEFAULT


def chunk_stemmer(text: str, of_document: str) -> str:
    """The stemmer of a chunk: its language's, where its text tells that by itself, else its document's."""
    if sum(map(str.isalpha, text[:_READ])) < ENOUGH:
        return of_document
    code, likely = rank_languages(text[:_READ])[0]
    return stemmer_of(code) if likely >= SURE else of_document


def question_stemmers(question: str, present: Sequence[str]) -> tuple[str | None, list[str]]:
    """Stemmer of a question where its language is sure, and all for it: first its own, then those that are `present`.

    `present` are those of the chunks that are searched. A few words seldom tell their language: unless they do, it is
    taken for the likeliest of those.
    """
    shares: defaultdict[str, float] = defaultdict(float)
    ranked = rank_languages(question)
    for code, likely in ranked:
        shares[stemmer_of(code)] += likely
    sure = stemmer_of(ranked[0][0]) if ranked[0][1] >= SURE else None
    own = sure or max(present, key=shares.__getitem__, default=DEFAULT)
    return sure, [own, *(one for one in present if one != own)]


async def prepare_detector() -> None:
    """Have the model read in a thread before the first text is looked at: an event loop would stand still for a second.

    Nothing is read where it was read before: who asks nothing does not hold it.
    """
    if not _detector.cache_info().currsize:
        await asyncio.to_thread(_detector)


class _LanguageDetector:
    """Naive Bayes over byte sequences (langid.py, Lui and Baldwin 2012), its tables as pages of a file.

    The tables are 55 MB and seldom read: after each text their pages are the kernel's, which has them at hand as long
    as nobody else wants the memory.
    """

    def __init__(self) -> None:
        """Read the model, which takes half a second."""
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        made = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        made.set_languages([*(code for code in _STEMMERS if code != "yi"), *_UNSTEMMED])
        steps, shares = memoryview(made.tk_nextmove), np.ascontiguousarray(made.nb_ptc)
        format_of_steps: Any = steps.format  # of whole numbers, as wide as the model has them
        with tempfile.TemporaryFile() as file:
            file.write(steps.cast("B"))
            file.write(shares.tobytes())
            file.flush()
            self._pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        made.tk_nextmove = memoryview(self._pages)[: steps.nbytes].cast("B").cast(format_of_steps)
        made.nb_ptc = np.frombuffer(self._pages, shares.dtype, offset=steps.nbytes).reshape(shares.shape)
        # It keeps the figures of all 97 languages beside those of ours, to be asked for others: 28 MB.
        made._full_model = made.nb_ptc, made.nb_pc, made.nb_classes
        self._identifier: LanguageIdentifier = made

    def rank(self, text: str) -> list[tuple[str, float]]:
        """Languages with their probabilities, the likeliest first."""
        try:
            found: list[tuple[str, float]] = self._identifier.rank(text)
            return found
        finally:
            self._pages.madvise(mmap.MADV_DONTNEED)


@functools.cache
def _detector() -> _LanguageDetector:
    return _LanguageDetector()
