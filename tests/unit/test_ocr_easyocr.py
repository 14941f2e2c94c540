"""The EasyOCR adapter without its models: lazy, told by name what is missing, safe against what the networks raise."""

from pathlib import Path

import numpy as np
import pytest

from cluster.basics.errors import Invalid, InvalidSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ocr.easyocr import EasyOcr, refuse_without_models
from pipelines.documents.ocr.reading import EngineMissing, PixelArea
from tests.fakes.ocr import FakeReader, FakeReaderFactory

PAGE = np.full((40, 100), 255, np.uint8)
LINE = PixelArea(5, 5, 90, 25)


@pytest.mark.parametrize(
    "error",
    [ImportError("no module named easyocr"), FileNotFoundError("Missing english_g2.pth"), ValueError("klingon")],
)
def test_what_is_missing_is_said_with_a_fix_and_not_looked_for_again(error: Exception) -> None:
    """X-11: no download, no silence, and no second load for each page."""
    factory = FakeReaderFactory(error)
    engine = EasyOcr(reader=factory)
    for _ in range(2):
        with pytest.raises(EngineMissing) as caught:
            engine.recognise(PAGE, [LINE])
        assert str(error) in caught.value.detail
        assert "ocr.easyocr_models" in caught.value.hint
    assert len(factory.orders) == 1


def test_only_the_network_that_is_needed_is_loaded_and_once() -> None:
    """IN-07: weak lines need the recogniser alone; the detector is for pages without lines."""
    factory = FakeReaderFactory(FakeReader([([], "text", 0.5)]))
    engine = EasyOcr(("eng", "deu"), "/models", reader=factory)
    assert factory.orders == []
    engine.recognise(PAGE, [LINE])
    engine.recognise(PAGE, [LINE, LINE])
    assert factory.orders == [(["en", "de"], "/models", True, False)]


def test_a_gpu_that_is_insisted_on_and_absent_is_said_with_a_fix() -> None:
    """IN-07: the page stands as Tesseract read it, and the attempts say why; the CPU is not taken in silence."""
    factory = FakeReaderFactory(InvalidSettings("torch sees none", fix="set gpu to auto"))
    with pytest.raises(EngineMissing) as caught:
        EasyOcr(gpu=True, reader=factory).recognise(PAGE, [LINE])
    assert (caught.value.detail, caught.value.hint) == ("torch sees none", "set gpu to auto")
    assert factory.gpus == [True]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), ValueError("bad crop"), IndexError("x")])
def test_a_network_that_raises_is_a_crash_of_this_reading(error: Exception) -> None:
    engine = EasyOcr(reader=FakeReaderFactory(FakeReader(error)))
    for call in (lambda: engine.recognise(PAGE, [LINE]), lambda: engine.detect(PAGE)):
        with pytest.raises(Unreadable) as caught:
            call()
        assert (caught.value.reason, caught.value.retryable) == (FailureReason.CRASHED, True)


def test_crops_are_clipped_to_the_picture_and_empty_ones_skipped() -> None:
    reader = FakeReader([([], " two   words ", 0.5)])
    engine = EasyOcr(reader=FakeReaderFactory(reader))
    read = engine.recognise(PAGE, [PixelArea(-9, -9, 500, 500), PixelArea(200, 200, 300, 300)])
    assert reader.boxes == [[0, 100, 0, 40]]
    assert [(item.text, item.confidence) for item in read] == [("two words", 0.5), ("", 0.0)]


def test_no_text_is_an_empty_transcript() -> None:
    engine = EasyOcr(reader=FakeReaderFactory(FakeReader([])))
    assert engine.recognise(PAGE, [LINE])[0].text == ""


def test_detected_lines_come_from_top_to_bottom() -> None:
    found = ([[[10, 50, 60, 70]]], [[[[5, 10], [40, 12], [40, 22], [5, 20]]]])
    engine = EasyOcr(reader=FakeReaderFactory(FakeReader((found[0][0:1], found[1][0:1]))))
    assert engine.detect(PAGE) == (PixelArea(5, 10, 40, 22), PixelArea(10, 60, 50, 70))


def test_languages_without_models_are_told_before_any_page_is_read(tmp_path: Path) -> None:
    """The packaged models read English; a folder of others is taken at its word once it is there."""
    refuse_without_models(("eng",), None)
    refuse_without_models(("eng", "deu"), str(tmp_path))
    with pytest.raises(Invalid, match="no models for deu:") as refused:
        refuse_without_models(("eng", "deu"), None)
    assert "ocr.easyocr_models" in refused.value.hint
    with pytest.raises(Invalid, match="folder"):
        refuse_without_models(("eng",), str(tmp_path / "absent"))
