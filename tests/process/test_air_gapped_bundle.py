"""The bundle for machines without a network: its installer on a tiny wheel house."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cluster.console.supply.bundle import lay_bundle, remove_unlocked
from cluster.console.supply.lock_files import LockedFile, LockedPackage


def tiny_wheel(folder: Path) -> Path:
    folder.mkdir(parents=True)
    meta = "tiny-1.0.dist-info"
    files = {
        "tiny.py": "",
        f"{meta}/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
        f"{meta}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digest = {name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for name, text in files.items()}
    rows = [f"{name},sha256={digest[name].decode().rstrip('=')},{len(text)}" for name, text in files.items()]
    path = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{meta}/RECORD", "\n".join([*rows, f"{meta}/RECORD,,", ""]))
    return path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    tiny_wheel(tmp_path / "bundle" / "wheels")
    assert lay_bundle(tmp_path / "bundle") == 1
    return tmp_path / "bundle"


def run_installer(bundle: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = ["sh", str(bundle / "install.sh"), *arguments]
    environment = {**os.environ, "PYTHON": sys.executable}
    return subprocess.run(line, cwd=bundle.parent, env=environment, capture_output=True, text=True, check=False)


def test_a_dry_run_finds_everything_and_leaves_nothing(bundle: Path) -> None:
    done = run_installer(bundle, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "would install 1 packages" in done.stdout
    assert not (bundle.parent / "aos-venv").exists()


def test_a_changed_wheel_is_refused_before_anything_is_made(bundle: Path) -> None:
    with (bundle / "wheels" / "tiny-1.0-py3-none-any.whl").open("ab") as file:
        file.write(b"x")
    done = run_installer(bundle, "somewhere")
    assert done.returncode == 1 and "not whole" in done.stderr
    assert not (bundle.parent / "somewhere").exists()


def test_wheels_from_before_a_pin_was_changed_go(bundle: Path) -> None:
    wheels = bundle / "wheels"
    for old in ("tiny-0.9-py3-none-any.whl", "aos-1.0-py3-none-any.whl"):
        (wheels / old).write_bytes(b"old")
    locked = LockedPackage("tiny", "1.0", (LockedFile("tiny-1.0-py3-none-any.whl", "0" * 64),))
    assert remove_unlocked(wheels, [locked]) == 2
    assert lay_bundle(bundle) == 1
    assert (bundle / "requirements.txt").read_text(encoding="utf-8").count("==") == 1
    done = run_installer(bundle, "--dry-run")
    assert done.returncode == 0, done.stderr


def test_files_of_one_pin_share_its_line(bundle: Path) -> None:
    (bundle / "wheels" / "tiny-1.0-cp311-cp311-linux_aarch64.whl").write_bytes(b"of another machine")
    assert lay_bundle(bundle) == 2
    (line,) = (bundle / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert line.startswith("tiny==1.0 ") and line.count("--hash=sha256:") == 2
    done = run_installer(bundle, "--dry-run")
    assert done.returncode == 0, done.stderr


def test_the_installer_names_models_that_came_along_and_their_settings(bundle: Path) -> None:
    model = bundle.parent / "given" / "my-model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}", encoding="utf-8")
    lay_bundle(bundle, model.parent)
    done = run_installer(bundle, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert f"AOS_RERANK_MODEL or AOS_VLLM_MODEL={bundle / 'models' / 'my-model'}" in done.stdout
