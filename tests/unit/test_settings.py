"""One reader of the configuration: layers, refusals with path and fix."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from configs.settings import InvalidConfiguration, load


def test_ch_02_in_08_in_09_defaults_are_the_documented_ones() -> None:
    """CH-02, IN-08, IN-09."""
    settings = load({})
    assert (settings.chunk.size, settings.chunk.overlap) == (1500, 300)
    assert (settings.ocr.dpi, settings.ocr.confidence_threshold) == (300, 0.60)


def test_the_environment_beats_rows_and_rows_beat_files(tmp_path: Path) -> None:
    extra = tmp_path / "site.yaml"
    extra.write_text("chunk: {size: 900, overlap: 90}\nocr: {dpi: 200}\n")
    env = {"AOS_CONFIG": str(extra), "RAG_CHUNK_SIZE": "700"}
    settings = load(env, rows={"chunk.size": 800, "ocr.dpi": 250})
    assert (settings.chunk.size, settings.chunk.overlap, settings.ocr.dpi) == (700, 90, 250)


def test_every_setting_has_a_name_in_the_environment() -> None:
    settings = load({"AOS_WORKER_LEASE_SECONDS": "7", "OCR_LANGUAGES": "eng, deu"})
    assert (settings.worker.lease_seconds, settings.ocr.languages) == (7, ("eng", "deu"))


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"RAG_CHUNK_SIZE": "many"}, "chunk.size (RAG_CHUNK_SIZE)"),
        ({"AOS_CHUNK_SISE": "1"}, "AOS_CHUNK_SISE: unknown"),
        ({"AUTH_SECRET_KEY": "changeme"}, "published default"),
        ({"AOS_ADMIN_PASSWORD": "AOS@Admin2026!"}, "published default"),
        ({"AOS_PROFILE": "staging"}, "use one of dev, prod"),
        ({"AOS_CONFIG": "/nowhere.yaml"}, "no such file"),
    ],
)
def test_au_02_what_is_wrong_is_refused_with_its_path(env: dict[str, str], told: str) -> None:
    """AU-02: the published default password is refused too."""
    with pytest.raises(InvalidConfiguration) as refused:
        load(env)
    assert told in str(refused.value)


def test_an_unknown_key_in_a_file_is_refused(tmp_path: Path) -> None:
    extra = tmp_path / "site.yaml"
    extra.write_text("chunk: {sise: 900}\n")
    with pytest.raises(InvalidConfiguration, match=r"chunk\.sise: unknown key"):
        load({"AOS_CONFIG": str(extra)})


def test_a_snapshot_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load({}).chunk.size = 3  # type: ignore[misc]
