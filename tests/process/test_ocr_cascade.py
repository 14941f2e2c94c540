"""The cascade's fingerprint, which asks the engine that is installed for its version, and the line engine's process."""

import numpy as np
import pytest

from configs.sections import OcrSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.ocr.cascade import build_cascade, ocr_fingerprint
from pipelines.documents.ocr.line_engine_process import LineEngineProcess


def test_building_loads_no_model_and_the_fingerprint_follows_the_settings() -> None:
    """IN-08: OCR_DPI is 300 unless set, and another value is another fingerprint."""
    settings = OcrSettings()
    assert settings.dpi == 300
    build_cascade(settings)
    assert ocr_fingerprint(settings) == ocr_fingerprint(OcrSettings())
    for change in ({"dpi": 200}, {"strategy": "tesseract"}, {"psm": 6}, {"confidence_threshold": 0.5}):
        assert ocr_fingerprint(OcrSettings.model_validate(change)) != ocr_fingerprint(settings)
    assert ocr_fingerprint(OcrSettings(engine_seconds=5)) == ocr_fingerprint(settings)


class Endless:
    """A line engine whose detector costs all the CPU that it can have."""

    name = "easyocr"

    def detect(self, image: object) -> None:
        while True:
            pass


def test_a_line_engine_that_costs_too_much_is_ended_for_good() -> None:
    engine = LineEngineProcess(Endless, 2**30, cpu_seconds=0.3)  # type: ignore[arg-type]
    with pytest.raises(Unreadable) as over:
        engine.detect(np.zeros((9, 9), np.uint8))
    assert (over.value.reason, over.value.retryable, engine.child) == (FailureReason.TIMEOUT, False, None)
