"""The systemd unit: what it says, whether systemd takes it, and what installing and removing it does."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cluster import cli
from cluster.basics.errors import Conflict, Invalid
from cluster.console.systemd_unit import (
    Command,
    UnitFailed,
    UnitPlan,
    install_unit,
    run_systemctl,
    uninstall_unit,
    unit_text,
)


def plan(home: Path, account: str | None = None) -> UnitPlan:
    return UnitPlan(Path(sys.executable), home / "state", home / ".env", account, home)


@pytest.mark.parametrize("account", [None, "root"])
@pytest.mark.parametrize("folder", ["plain", "a b%h"])
def test_systemd_takes_the_unit_wherever_it_lies(tmp_path: Path, account: str | None, folder: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    home = tmp_path / folder
    home.mkdir()
    program = home / "aos"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "unit").mkdir()
    path = tmp_path / "unit" / "aos.service"
    path.write_text(unit_text(replace(plan(home, account), program=program)))
    scope = [] if account else ["--user"]
    done = subprocess.run(
        ["systemd-analyze", *scope, "verify", "--man=no", "--recursive-errors=no", path],
        capture_output=True,
        text=True,
        timeout=60,
        env={"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    about = [line for line in done.stderr.splitlines() if "aos.service" in line]
    assert (done.returncode, about) == (0, []), done.stderr


def test_the_unit_leaves_the_fence_around_scripts_what_it_needs(tmp_path: Path) -> None:
    text = unit_text(plan(tmp_path, "aos"))
    taken = (
        "RestrictNamespaces",
        "ProtectKernel",
        "ProtectControlGroups",
        "ProtectProc",
        "PrivateDevices",
        "DenyWrite",
    )
    assert not [name for name in taken if name in text]
    assert {"User=aos", "NoNewPrivileges=yes", "UMask=0077", "KillMode=mixed", "OOMPolicy=continue"} <= set(
        text.splitlines()
    )


def test_it_is_written_then_started_and_stopped_before_it_is_removed(tmp_path: Path) -> None:
    wanted, ran = plan(tmp_path), list[tuple[Command, bool]]()

    def run(command: Command) -> None:
        ran.append((command, wanted.path.exists()))

    install_unit(wanted, run, runs_already=False)
    assert wanted.path.read_text() == unit_text(wanted) and wanted.path.stat().st_mode & 0o777 == 0o644
    install_unit(wanted, run, runs_already=True)  # again: by the unit, so it is no stranger that runs
    assert uninstall_unit(wanted, run) and not wanted.path.exists() and not uninstall_unit(wanted, run)
    start = [
        (("systemctl", "--user", "daemon-reload"), True),
        (("systemctl", "--user", "enable", "--now", "aos.service"), True),
    ]
    stop = (("systemctl", "--user", "disable", "--now", "aos.service"), True)
    assert ran == [*start, *start, stop, (("systemctl", "--user", "daemon-reload"), False)]


def test_what_was_started_by_hand_is_not_started_twice(tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="already runs"):
        install_unit(plan(tmp_path), lambda command: None, runs_already=True)
    assert not plan(tmp_path).path.exists()


def test_refusals_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnitFailed, match="there is no systemctl"):
        run_systemctl(("systemctl-nowhere",))
    with pytest.raises(UnitFailed, match="exit status 1"):
        run_systemctl(("false",))
    with pytest.raises(Invalid):
        unit_text(replace(plan(tmp_path), state_dir=Path("a\nExecStartPre=/bin/true")))
    with pytest.raises(Invalid):
        unit_text(replace(plan(tmp_path), program=Path("/opt/c\\d/aos")))
    with pytest.raises(Invalid):
        unit_text(replace(plan(tmp_path), account="aos\nUser=root"))


def test_a_dry_run_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path / "state"))
    assert cli.run_command(["service", "install", "--user", "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["done"] is False and told["path"] == str(tmp_path / ".config/systemd/user/aos.service")
    assert cli.run_command(["service", "print", "--user"]) == 0
    assert f'"AOS_STATE_DIR={tmp_path / "state"}"' in capsys.readouterr().out
    assert cli.run_command(["service", "uninstall", "--user", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] is False
    assert not list(tmp_path.iterdir())
