"""The sample documents: what the questions ask for stands where they say."""

from pathlib import Path

import pytest
import yaml

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
QUESTIONS = yaml.safe_load((SAMPLES / "questions.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["file"])
def test_the_answer_stands_on_the_named_page(question: dict[str, str | int]) -> None:
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    path = SAMPLES / str(question["file"])
    kind, count = desk.survey(path, None)
    number = int(question["page"])
    assert number <= count
    page = desk.page(path, kind, number)
    if path.stem.endswith("-scan"):  # what OCR reads there is its own tests' matter
        assert page.engine == "tesseract"
    else:
        assert str(question["must_contain"]) in page.text


@pytest.mark.parametrize("sample", [*sorted({str(one["file"]) for one in QUESTIONS}), "tariffs-2026.xlsx"])
def test_a_name_without_a_suffix_is_read_as_well(sample: str, tmp_path: Path) -> None:
    """IN-01: as uploads are kept; a library that goes by the suffix of a path refused every workbook."""
    desk, path = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber), tmp_path / "blob"
    path.write_bytes((SAMPLES / sample).read_bytes())
    kind, count = desk.survey(path, sample)
    named_kind, named_count = desk.survey(SAMPLES / sample, None)
    assert (kind, count) == (named_kind, named_count)
    assert desk.page(path, kind, 1).text == desk.page(SAMPLES / sample, kind, 1).text


def test_the_samples_are_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLES.iterdir() if path.is_file()) < 1_500_000
