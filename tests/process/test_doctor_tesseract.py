"""What the doctor says of Tesseract: the version of the library that reads, the languages of the program."""

import shutil
from pathlib import Path

import pytest
import tesserocr

from cluster import doctor
from cluster.console.findings import HealthFinding, StatusColour
from configs.settings import load_settings

LISTS = "#!/bin/sh\ncase $1 in --version) echo 'tesseract 5.9.1-fake';; *) printf 'List:\\neng\\ndeu\\nosd\\n';; esac\n"
LIBRARY = tesserocr.tesseract_version().split()[1]


def look(monkeypatch: pytest.MonkeyPatch, folder: Path, languages: str) -> HealthFinding:
    """The finding where the only program on the path lies in `folder`."""
    monkeypatch.setenv("PATH", str(folder))
    settings = load_settings({"AOS_STATE_DIR": str(folder / "state"), "AOS_OCR_LANGUAGES": languages})
    (found,) = doctor._probe_tesseract(settings)
    return found


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a `tesseract` that tells its version and languages."""
    tool = tmp_path / "tesseract"
    tool.write_text(LISTS)
    tool.chmod(0o755)
    return tmp_path


def test_its_version_and_the_configured_languages_are_told(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(monkeypatch, program, "eng,deu")
    assert (found.colour, found.detail) == (
        StatusColour.GREEN,
        f"{LIBRARY}, scans are read in eng, deu; installed: deu, eng",
    ), "not the program's: it reads no page"


def test_a_language_that_is_not_there_is_red_with_its_package(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(monkeypatch, program, "eng,fra,chi_sim")
    assert (found.colour, found.detail) == (StatusColour.RED, "no language ['chi_sim', 'fra']")
    assert found.fix.endswith("install tesseract-ocr-chi-sim tesseract-ocr-fra")


def test_absent_data_for_orientation_is_yellow_with_its_package(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program / "tesseract").write_text(LISTS.replace("osd", "fra"))
    found = look(monkeypatch, program, "eng,deu")
    assert found.colour is StatusColour.YELLOW and "osd" in found.detail
    assert found.fix.endswith("install tesseract-ocr-osd")


def test_without_the_program_it_is_red_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = look(monkeypatch, tmp_path, "eng")
    assert (found.colour, found.detail) == (StatusColour.RED, "not installed")
    assert "tesseract-ocr" in found.fix


def test_a_library_that_does_not_load_is_red_however_well_the_program_is(program: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(program / "state")})
    (found,) = doctor._probe_tesseract(settings, "tesserocr_that_is_not_there")
    assert found.colour is StatusColour.RED and "tesserocr_that_is_not_there" in found.detail
    assert found.fix == "Run `make install`."


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_the_real_program_is_green() -> None:
    (found,) = doctor._probe_tesseract(load_settings({}))
    assert found.colour is StatusColour.GREEN and found.detail[0].isdigit()
