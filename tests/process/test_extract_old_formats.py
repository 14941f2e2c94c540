"""Old office formats: read through LibreOffice where it is installed, each failure with its reason."""

import sys
from pathlib import Path

import docx
import pytest

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.reader import DocumentReader
from pipelines.documents.sources.sniff import Kind, sniff_kind
from tests.fakes import files, outlook

CONVERT = """#!{python}
import pathlib, sys, time
folder = pathlib.Path(sys.argv[sys.argv.index("--outdir") + 1])
new, source = sys.argv[sys.argv.index("--convert-to") + 1], pathlib.Path(sys.argv[-1])
assert "--headless" in sys.argv and sys.argv[1].startswith("-env:UserInstallation=file:///"), sys.argv
assert b"DisableMacrosExecution" in (folder / "profile/user/registrymodifications.xcu").read_bytes()
{act}
"""
COPY = 'source.read_bytes() and (folder / f"source.{new}").write_bytes(pathlib.Path("%s").read_bytes())'


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """A `soffice` that does this, and nothing else on the path."""
    folder.mkdir()
    script = folder / "soffice"
    script.write_text(CONVERT.replace("{python}", sys.executable).replace("{act}", act))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """What stands in for a document of Word 97."""
    return outlook.write_compound(tmp_path / "a.doc", {"WordDocument": bytes(5_000), "1Table": bytes(5_000)})


def worker() -> ExtractionWorker:
    return ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)


def test_an_old_document_is_read_as_what_it_is_converted_to(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = docx.Document()
    newer.add_paragraph("The old lease ends in May.")
    newer.save(str(tmp_path / "new.docx"))
    install(tmp_path / "bin", monkeypatch, COPY % (tmp_path / "new.docx"))
    desk = worker()
    assert desk.survey(old, None) == (Kind.DOC, 1)
    assert desk.page(old, Kind.DOC, 1).text == "The old lease ends in May."


def test_without_the_program_it_says_what_to_install(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        Unreadable, match="install libreoffice-writer where files are read, or save it as DOCX"
    ) as error:
        sniff_kind(old)
    assert error.value.reason is FailureReason.UNSUPPORTED
    slides = outlook.write_compound(tmp_path / "a.ppt", {"PowerPoint Document": bytes(5_000)})
    with pytest.raises(Unreadable, match="install libreoffice-impress"):
        sniff_kind(slides)


@pytest.mark.parametrize("act", ["sys.exit(77)", "pass"])
def test_a_conversion_that_makes_nothing_is_a_corrupt_file(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    install(tmp_path / "bin", monkeypatch, act)
    with pytest.raises(Unreadable) as error:
        worker().survey(old, None)
    assert error.value.reason is FailureReason.CORRUPT


def test_a_locked_document_is_encrypted_and_not_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, f'pathlib.Path("{tmp_path}/asked").touch()')
    word = bytes(11) + b"\x01" + bytes(5_000)
    locked = outlook.write_compound(tmp_path / "b.doc", {"WordDocument": word})
    slides = outlook.write_compound(tmp_path / "b.ppt", {"PowerPoint Document": bytes(99), "EncryptedSummary": b"x"})
    for path in (locked, slides):
        with pytest.raises(Unreadable) as error:
            worker().survey(path, None)
        assert error.value.reason is FailureReason.ENCRYPTED
    assert not (tmp_path / "asked").exists()


def test_a_conversion_that_hangs_ends_with_its_call(old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, f'pathlib.Path("{tmp_path}/ran").touch(); time.sleep(600)')
    with DocumentReader(ReadSettings(open_seconds=3), OcrSettings(), files.transcriber) as reader:
        with pytest.raises(Unreadable) as error:
            reader.survey(old)
        assert error.value.reason is FailureReason.TIMEOUT and (tmp_path / "ran").exists()


def test_what_embeds_another_document_is_what_its_name_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "bin", monkeypatch, "pass")
    both: outlook.Tree = {"WordDocument": bytes(99), "ObjectPool": {"_1": {"Workbook": bytes(99)}}}
    assert sniff_kind(outlook.write_compound(tmp_path / "c.doc", both)) is Kind.DOC
    assert sniff_kind(outlook.write_compound(tmp_path / "c.xls", both)) is Kind.XLS
