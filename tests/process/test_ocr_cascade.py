"""The cascade's fingerprint, which asks the engine that is installed for its version."""

from configs.sections import OcrSettings
from pipelines.documents.ocr.cascade import build_cascade, ocr_fingerprint


def test_building_loads_no_model_and_the_fingerprint_follows_the_settings() -> None:
    """IN-08: OCR_DPI is 300 unless set, and another value is another fingerprint."""
    settings = OcrSettings()
    assert settings.dpi == 300
    build_cascade(settings)
    assert ocr_fingerprint(settings) == ocr_fingerprint(OcrSettings())
    for change in ({"dpi": 200}, {"strategy": "tesseract"}, {"psm": 6}, {"confidence_threshold": 0.5}):
        assert ocr_fingerprint(OcrSettings.model_validate(change)) != ocr_fingerprint(settings)
    assert ocr_fingerprint(OcrSettings(engine_seconds=5)) == ocr_fingerprint(settings)
