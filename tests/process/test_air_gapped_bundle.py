"""The bundle for machines without a network: its installer on a tiny wheel house."""

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cluster.console.supply.bundle import lay_bundle


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
