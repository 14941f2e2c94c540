"""`aos languages`: what data there is, how more is brought, and what is said where it cannot be."""

import json
from pathlib import Path

import pytest

from cluster import cli
from cluster.basics.errors import Invalid
from cluster.console import language_data
from cluster.console.language_data import InstallationPlan, NotInstallable

LISTS = "#!/bin/sh\nprintf 'List of available languages in \"%s/\" (2):\\neng\\nosd\\n'\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing but a `tesseract` whose folder of data has English."""
    data, programs = tmp_path / "data", tmp_path / "bin"
    data.mkdir()
    programs.mkdir()
    for name in ("eng", "osd"):
        (data / f"{name}.traineddata").touch()
    write_program(programs, "tesseract", LISTS % data)
    monkeypatch.setenv("PATH", f"{programs}")
    monkeypatch.delenv("AOS_OCR_TESSERACT_DATA", raising=False)
    return tmp_path


def write_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_languages_of_the_program_and_of_an_own_folder_are_listed(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = machine / "own"
    own.mkdir()
    (own / "tha.traineddata").touch()
    monkeypatch.setenv("AOS_OCR_TESSERACT_DATA", str(own))
    assert cli.run_command(["languages", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["languages"], found["orientation"]) == (["eng", "tha"], True)
    assert (found["own"], found["program"]) == (str(own), str(machine / "data"))
    assert cli.run_command(["languages", "list"]) == 0
    assert "eng, tha" in capsys.readouterr().out


def test_a_dry_run_shows_the_command_and_does_nothing(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_program(machine / "bin", "apt-get", "#!/bin/sh\nexit 9\n")
    assert cli.run_command(["languages", "install", "tha", "chi_sim", "eng", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["languages"], told["done"]) == (["tha", "chi_sim"], False)
    assert told["steps"][0].endswith("tesseract-ocr-tha tesseract-ocr-chi-sim")


def test_what_is_there_is_not_installed_again(machine: Path) -> None:
    assert language_data.plan_installation(["eng"], None, None) == InstallationPlan(())


def test_files_of_a_folder_are_copied_whole(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For machines without a network."""
    (machine / "usb").mkdir()
    (machine / "usb" / "tha.traineddata").write_bytes(b"data")
    assert cli.run_command(["languages", "install", "tha", "--from", str(machine / "usb")]) == 0
    assert (machine / "data" / "tha.traineddata").read_bytes() == b"data"
    assert not list(machine.rglob("*.part"))
    assert cli.run_command(["languages", "install", "lao", "--from", str(machine / "usb"), "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "not_installable" and "lao.traineddata" in error["detail"]


def test_a_folder_that_cannot_be_written_says_what_to_do(machine: Path) -> None:
    plan = InstallationPlan(("tha",), copies=((str(machine / "absent"), str(machine / "data" / "tha.traineddata")),))
    with pytest.raises(NotInstallable) as refused:
        language_data.carry_out(plan)
    assert "AOS_OCR_TESSERACT_DATA" in refused.value.hint


@pytest.mark.parametrize("script", ["#!/bin/sh\necho 'E: Unable to locate package' >&2\nexit 100\n", "no program\n"])
def test_apt_that_refuses_or_does_not_run_is_told_with_both_ways_out(machine: Path, script: str) -> None:
    write_program(machine / "bin", "apt-get", script)
    plan = InstallationPlan(("tha",), command=("apt-get", "install", "-y", "tesseract-ocr-tha"))
    with pytest.raises(NotInstallable) as refused:
        language_data.carry_out(plan)
    assert ".traineddata" in refused.value.hint


def test_without_apt_or_tesseract_the_fix_is_said(machine: Path) -> None:
    with pytest.raises(NotInstallable) as refused:
        language_data.plan_installation(["tha"], None, None)
    assert "--from" in refused.value.hint
    (machine / "bin" / "tesseract").unlink()
    with pytest.raises(NotInstallable) as refused:
        language_data.list_data(None)
    assert "tesseract-ocr" in refused.value.hint


@pytest.mark.parametrize("name", ["../eng", "-y", "deu;reboot", "", "d"])
def test_what_is_no_name_of_a_language_reaches_no_command(machine: Path, name: str) -> None:
    with pytest.raises(Invalid):
        language_data.plan_installation([name], None, None)
