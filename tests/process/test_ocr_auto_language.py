"""Languages told page by page with the real Tesseract: text, noise, turned pages, and data of an own folder."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from configs.sections import OcrSettings
from pipelines.documents.document import CaveatKind, Page, Unreadable
from pipelines.documents.ocr.languages.auto_reading import build_page_reader
from pipelines.documents.ocr.languages.installed import data_folder, find_language_data, installed_languages
from pipelines.documents.ocr.reading import EngineMissing
from pipelines.documents.ocr.tesseract import TesseractEngine

LINES = (
    "The crane was inspected by the works council",
    "and found without defects. The next inspection",
    "is due before the end of the year as agreed.",
)


def written(*lines: str) -> NDArray[np.uint8]:
    picture = Image.new("L", (1300, 120 + 90 * len(lines)), 255)
    for row, text in enumerate(lines):
        ImageDraw.Draw(picture).text((60, 50 + 90 * row), text, fill=0, font=ImageFont.load_default(44))
    return np.array(picture)


def read_fast(picture: NDArray[np.uint8], **settings: object) -> Page:
    told = {"languages": ("auto",), "strategy": "tesseract", **settings}
    return build_page_reader(OcrSettings.model_validate(told)).read(picture, 1, 200)


def test_english_is_told_and_read_upright_and_on_its_head() -> None:
    for picture in (written(*LINES), np.ascontiguousarray(np.rot90(written(*LINES), 2))):
        page = read_fast(picture)
        assert page.text.split()[:4] == ["The", "crane", "was", "inspected"]
        assert {one.languages for one in page.attempts} == {"eng"} and page.caveats == ()


@pytest.mark.parametrize("seed", range(2))
def test_noise_is_no_language_and_no_error(seed: int) -> None:
    noise = np.random.default_rng(seed).integers(0, 255, (600, 800), dtype=np.uint8)
    page = read_fast(noise)
    assert page.failure is None and page.text == read_fast(noise, languages=("eng",)).text
    assert all(one.kind is CaveatKind.LANGUAGE_MISSING for one in page.caveats)


@pytest.mark.parametrize("shape", [(1, 1), (1, 900), (900, 1), (0, 10)])
def test_pictures_of_no_size_are_blank_pages(shape: tuple[int, int]) -> None:
    assert read_fast(np.zeros(shape, np.uint8)).text.strip() == ""


def test_data_of_an_own_folder_are_found_beside_those_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "own.traineddata").write_bytes((data_folder() / "eng.traineddata").read_bytes())
    assert set(installed_languages(own=str(tmp_path))) >= {"eng", "own"}
    for languages in (("own",), ("own", "eng"), ("eng", "own")):
        engine = TesseractEngine(languages, data=str(tmp_path))
        lines = engine.read(written(*LINES), dpi=200, layout=None, seconds=60)
        assert lines[0].text == LINES[0]
        assert engine.script(written(*LINES), seconds=60) == "Latin"
        engine.close()
    with pytest.raises(EngineMissing) as missing:
        find_language_data(("eng", "xyz"), own=str(tmp_path))
    assert missing.value.hint == "sudo apt-get install -y tesseract-ocr-xyz"


def test_an_own_folder_is_enough_without_the_program(tmp_path: Path) -> None:
    (tmp_path / "own.traineddata").touch()
    assert installed_languages("no-such-program", str(tmp_path)) == ("own",)
    assert find_language_data(("own",), "no-such-program", str(tmp_path)).folder == str(tmp_path.resolve())
    with pytest.raises(EngineMissing):
        installed_languages("no-such-program", str(tmp_path / "absent"))


def test_damaged_data_are_a_page_that_failed_and_no_wrong_text(tmp_path: Path) -> None:
    (tmp_path / "eng.traineddata").write_bytes(b"no data of any language")
    with pytest.raises(Unreadable):
        read_fast(written(*LINES), tesseract_data=str(tmp_path))
