"""OCR that keeps what it reads in a folder, so that rules behind it can be tried without paying for it again."""

import hashlib
import pickle
from pathlib import Path

from configs.sections import OcrSettings
from pipelines.documents.ocr.cascade import OcrCascade
from pipelines.documents.ocr.reading import Picture, TextLine
from pipelines.documents.ocr.tesseract import TesseractEngine


class KeptTesseract(TesseractEngine):
    """Tesseract that reads no picture twice: what it found is kept in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def read(self, image: Picture, *, dpi: int | None, layout: int | None, seconds: float) -> tuple[TextLine, ...]:
        """As it was read the first time."""
        key = hashlib.sha256(image.tobytes() + repr((image.shape, dpi, layout)).encode()).hexdigest()
        path = self._folder / f"{key}.pickle"
        if not path.exists():
            path.write_bytes(pickle.dumps(super().read(image, dpi=dpi, layout=layout, seconds=seconds)))
        lines: tuple[TextLine, ...] = pickle.loads(path.read_bytes())
        return lines


def make_kept(folder: Path, settings: OcrSettings) -> OcrCascade:
    """A cascade whose first engine keeps what it reads."""
    return OcrCascade(settings, KeptTesseract(folder), None)
