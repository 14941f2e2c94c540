"""The packaged model in other runtimes, as encoders to compare with; none of them is a dependency of the product."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cluster.models.embedding.encoder import SentenceEncoder
from cluster.models.embedding.sentence_tokens import Window
from cluster.models.embedding.weights import multiplies_bfloat16, packaged_folder
from cluster.models.ports import EmbedderFacts

Run = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Token ids and mask, shape (windows, tokens), to the last layer, shape (windows, tokens, dimension)."""


class Absent(Exception):
    """This way cannot be measured here; the message says why."""


class Padded:
    """An `WindowEncoder`: tokens are ours, pooling is a mean, `run` is what is between."""

    def __init__(self, like: SentenceEncoder, run: Run) -> None:
        self.facts: EmbedderFacts = like.facts
        self.device = like.device
        self._like, self._run = like, run

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return self._like.windows(texts)

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        last, mask = self._last(windows)
        means = (last * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)

    def _last(self, windows: Sequence[Window]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        longest = max(map(len, windows))
        ids = np.array([[*window, *[0] * (longest - len(window))] for window in windows], dtype=np.int64)
        mask = (np.arange(longest) < np.array([[len(window)] for window in windows])).astype(np.int64)
        return self._run(ids, mask), mask


def bert(dtype: str = "float32") -> Any:
    import torch
    from transformers import AutoModel

    return AutoModel.from_pretrained(str(packaged_folder()), local_files_only=True, dtype=getattr(torch, dtype)).eval()


def traceable() -> Any:
    """The model as a module of ids and mask; the mask is ready made, as tracing does not follow how it is built."""
    import torch
    from transformers import AutoModel

    class Last(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(
                str(packaged_folder()), local_files_only=True, attn_implementation="eager", dtype=torch.float32
            )

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            hidden = (1.0 - attention_mask[:, None, None, :].float()) * -1e4
            types = torch.zeros_like(input_ids)
            return self.model(input_ids=input_ids, attention_mask=hidden, token_type_ids=types).last_hidden_state

    return Last().eval()


def padded(like: SentenceEncoder, dtype: Literal["float32", "bfloat16"]) -> Padded:
    """Plain torch, as transformers runs it.

    Raises:
        Absent: bfloat16 is not multiplied in hardware here.
    """
    import torch

    if dtype == "bfloat16" and not multiplies_bfloat16(torch.cpu.get_capabilities()):
        raise Absent("this processor has no bfloat16")
    model = bert(dtype)

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        with torch.inference_mode():
            last = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
        found: NDArray[np.float32] = last.float().numpy()
        return found

    return Padded(like, run)


def openvino(like: SentenceEncoder, precision: Literal["f32", "bf16", "int8"]) -> Padded:
    """OpenVINO's CPU plugin; int8 is calibrated by NNCF (SmoothQuant) on windows of made-up length.

    Raises:
        Absent: `openvino`, for int8 also `nncf`, is not installed.
    """
    try:
        import openvino as ov
    except ImportError as error:
        raise Absent("pip install openvino") from error
    import torch

    sample = {name: torch.ones(2, 8, dtype=torch.long) for name in ("input_ids", "attention_mask")}
    model = ov.convert_model(traceable(), example_input=sample)
    if precision == "int8":
        model = _calibrated(model, like)
    hint = "f32" if precision == "int8" else precision
    wishes = {
        "INFERENCE_PRECISION_HINT": hint,
        "INFERENCE_NUM_THREADS": torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
    }
    compiled = ov.Core().compile_model(model, "CPU", wishes)

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = compiled({"input_ids": ids, "attention_mask": mask})[0]
        return found

    return Padded(like, run)


def _calibrated(model: Any, like: SentenceEncoder) -> Any:
    try:
        import nncf
    except ImportError as error:
        raise Absent("pip install nncf") from error
    samples = []
    for text in _prose():
        (window, *_) = like.windows([text])[0]
        ids = np.array([window], dtype=np.int64)
        samples.append({"input_ids": ids, "attention_mask": np.ones_like(ids)})
    return nncf.quantize(model, nncf.Dataset(samples), model_type=nncf.ModelType.TRANSFORMER, subset_size=len(samples))


def onnx_runtime(like: SentenceEncoder, precision: Literal["float32", "int8"]) -> Padded:
    """ONNX Runtime; int8 is its dynamic quantisation with a scale for each output channel.

    Raises:
        Absent: `onnxruntime`, `onnx` or `onnxscript` is not installed.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise Absent(f"pip install onnx onnxscript onnxruntime ({error.name})") from error
    import torch

    with tempfile.TemporaryDirectory(prefix="aos-onnx-") as folder:
        path = Path(folder) / "model.onnx"
        _write_onnx(path)
        if precision == "int8":
            smaller = path.with_name("int8.onnx")
            quantize_dynamic(path, smaller, per_channel=True, weight_type=QuantType.QInt8)
            path = smaller
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run(["last"], {"input_ids": ids, "attention_mask": mask})[0]
        return found

    return Padded(like, run)


def _write_onnx(path: Path) -> None:
    import torch

    names = ("input_ids", "attention_mask")
    shape = {0: "windows", 1: "tokens"}
    torch.onnx.export(
        traceable(),
        tuple(torch.ones(2, 8, dtype=torch.long) for _ in names),
        str(path),
        input_names=list(names),
        output_names=["last"],
        dynamic_axes=dict.fromkeys((*names, "last"), shape),
        opset_version=18,
        dynamo=False,
    )


def _prose() -> list[str]:
    """English text that is part of no test set: the documentation inside the standard library's modules."""
    import argparse
    import decimal
    import email
    import statistics
    import unittest

    texts = [module.__doc__ or "" for module in (argparse, decimal, email, statistics, unittest)]
    found = " ".join(" ".join(texts).split())
    return [found[start : start + 900] for start in range(0, len(found), 300)][:60]
