"""EasyOCR with its packaged models, offline: a line, and a page on which nobody else found one. Slow: loads torch."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from configs.sections import OcrSettings
from pipelines.documents.ocr.cascade import OcrCascade
from pipelines.documents.ocr.easyocr import EasyOcr
from pipelines.documents.ocr.reading import EngineMissing, PixelArea
from tests.fakes.ocr import FakeEngine, line


def written(text: str) -> np.ndarray:
    picture = Image.new("L", (600, 120), 255)
    ImageDraw.Draw(picture).text((40, 30), text, fill=0, font=ImageFont.load_default(44))
    return np.array(picture)


@pytest.fixture(scope="module")
def engine() -> EasyOcr:
    return EasyOcr()


def test_a_weak_line_is_read_by_the_real_recogniser(engine: EasyOcr) -> None:
    """IN-07, X-11: and its reading replaces the weak one."""
    picture = written("Total 4711 EUR")
    weak = line("T0ta| x", 0.2, 35, x=40)
    page = OcrCascade(OcrSettings(), FakeEngine([(weak,)]), engine).read(picture, 1)
    assert page.attempts[-1].engine == "easyocr"
    whole = engine.recognise(picture, [PixelArea(30, 20, 400, 90)])[0]
    assert whole.text == "Total 4711 EUR"
    assert whole.confidence > 0.5


def test_a_page_without_lines_is_searched_by_the_real_detector(engine: EasyOcr) -> None:
    """IN-07: the detector where Tesseract found no line."""
    page = OcrCascade(OcrSettings(), FakeEngine([()]), engine).read(written("Total 4711 EUR"), 1)
    assert page.text.replace("\n", " ") == "Total 4711 EUR"
    assert page.engine == "easyocr"
    assert all(page.text[word.start :].startswith(word.text) for word in page.words)


def test_a_folder_without_models_is_missing(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(EngineMissing, match="models"):
        EasyOcr(models=str(tmp_path_factory.mktemp("empty"))).recognise(written("x"), [PixelArea(0, 0, 50, 50)])
