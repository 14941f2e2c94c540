"""BERT on a CPU without padding: weights packed once for oneDNN, and what follows a product fused with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm, scaled_dot_product_attention

from cluster.models.embedding.numpy_bert import NumpyLayers
from cluster.models.embedding.plain_bert import PlainBert

# Tokens that are multiplied at once, for which oneDNN chooses the layout of the weights. It keeps what it has made for
# each other number, 2.4 MB, and gives none of it back: after 5,000 pages a process held 420 MB more than after 1,500.
ROWS = 512
FEW_ROWS, STEP, FEW_STEP = 64, 64, 16  # a rest is made up to a multiple, of the latter where it is short
ENOUGH, ENOUGH_ROUNDED = 0.999, 0.99  # cosine of a token's vectors; the latter of bfloat16 to float32


@dataclass(frozen=True, slots=True)
class _Linear:
    """x·W + b; weights in the layout that oneDNN wants, which plain torch makes anew at every call."""

    weight: Tensor
    bias: Tensor

    @classmethod
    def of(cls, *layers: Any) -> "_Linear":
        """One product for layers that read the same input."""
        weight = torch.cat([layer.weight.detach() for layer in layers])
        bias = torch.cat([layer.bias.detach() for layer in layers])
        return cls(torch.ops.mkldnn._reorder_linear_weight(weight, ROWS), bias)

    def __call__(self, x: Tensor) -> Tensor:
        multiply = torch.ops.mkldnn._linear_pointwise
        return _joined([multiply(some, self.weight, self.bias, "none", [], "") for some in _blocks(x)])

    def gelu(self, x: Tensor) -> Tensor:
        multiply = torch.ops.mkldnn._linear_pointwise
        return _joined([multiply(some, self.weight, self.bias, "gelu", [], "none") for some in _blocks(x)])

    def plus(self, x: Tensor, residual: Tensor) -> Tensor:
        multiply, both = (torch.ops.mkldnn._linear_pointwise.binary, zip(_blocks(x), _blocks(residual), strict=True))
        return _joined([multiply(some, more, self.weight, self.bias, "add") for some, more in both])


def _blocks(x: Tensor) -> Sequence[Tensor]:
    return [x[start : start + ROWS] for start in range(0, len(x), ROWS)]


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def padded_rows(count: int) -> int:
    """Rows that are multiplied for so many tokens: one of eleven numbers after each 512."""
    step = FEW_STEP if count <= FEW_ROWS else STEP
    return -(-count // step) * step


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Tensor
    bias: Tensor
    epsilon: float

    @classmethod
    def of(cls, norm: Any) -> "_Norm":
        return cls(norm.weight.detach(), norm.bias.detach(), norm.eps)

    def __call__(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight.shape, self.weight, self.bias, self.epsilon)


class _Layer:
    """Attention within each window, then the two products of the feed-forward part."""

    def __init__(self, layer: Any, heads: int) -> None:
        attention, self._heads = layer.attention, heads
        self._asks = _Linear.of(attention.self.query, attention.self.key, attention.self.value)
        self._out, self._first = _Linear.of(attention.output.dense), _Norm.of(attention.output.LayerNorm)
        self._up, self._down = _Linear.of(layer.intermediate.dense), _Linear.of(layer.output.dense)
        self._second = _Norm.of(layer.output.LayerNorm)

    def __call__(self, x: Tensor, groups: Sequence[tuple[int, int]]) -> Tensor:
        x = self._first(self._out.plus(self._attend_windows(self._asks(x), groups), x))
        return self._second(self._down.plus(self._up.gelu(x), x))

    def _attend_windows(self, asks: Tensor, groups: Sequence[tuple[int, int]]) -> Tensor:
        """Self-attention of each token within its window; `groups` are (windows, tokens of each)."""
        width = asks.shape[1] // 3
        taken = asks.new_zeros(len(asks), width)  # what is behind the last window is nobody's
        start = 0
        for count, length in groups:
            end = start + count * length
            query, key, value = asks[start:end].view(count, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            found = scaled_dot_product_attention(query, key, value)
            taken[start:end] = found.transpose(1, 2).reshape(end - start, width)
            start = end
        return taken


class PackedBert:
    """The last layer of a `BertModel` for windows of any lengths. Holds copies of what it needs of the model.

    It differs from the model itself by rounding only; `agrees` says whether that is so on this machine.
    """

    def __init__(self, model: Any) -> None:
        """Pack the weights, in the number format that the model has."""
        tables = model.embeddings
        self._words = tables.word_embeddings.weight.detach()
        places = tables.position_embeddings.weight.detach().float()
        self._places = places + tables.token_type_embeddings.weight.detach()[0].float()
        self._norm = _Norm.of(tables.LayerNorm)
        self._layers = [_Layer(layer, model.config.num_attention_heads) for layer in model.encoder.layer]

    def __call__(self, windows: Sequence[Sequence[int]]) -> list[Tensor]:
        """For each window its tokens' vectors: shape (len(window), width)."""
        order = sorted(range(len(windows)), key=lambda at: len(windows[at]))
        lengths = [len(windows[at]) for at in order]
        groups = [(len(list(same)), length) for length, same in groupby(lengths)]
        ids = torch.tensor([token for at in order for token in windows[at]])
        places = torch.cat([torch.arange(length) for length in lengths])
        x = self._norm((self._words[ids].float() + self._places[places]).to(self._words.dtype))
        x = torch.nn.functional.pad(x, (0, 0, 0, padded_rows(len(x)) - len(x)))
        for layer in self._layers:
            x = layer(x, groups)
        rows = dict(zip(order, torch.split_with_sizes(x[: len(ids)], lengths), strict=True))
        return [rows[at] for at in range(len(windows))]

    def agrees(self, model: Any) -> bool:
        """True where the model itself gives the same for a few made-up windows, rounding aside."""
        return self._is_near(lambda window: model(input_ids=window[None]).last_hidden_state[0], ENOUGH)

    def agrees_with_numpy(self, layers: NumpyLayers) -> bool:
        """True where numpy gives the same in float32."""
        enough = ENOUGH if self._words.dtype is torch.float32 else ENOUGH_ROUNDED
        return self._is_near(lambda window: torch.from_numpy(layers([window.tolist()])[0]), enough)

    def _is_near(self, theirs: Callable[[Tensor], Tensor], enough: float) -> bool:
        generator = torch.Generator().manual_seed(0)
        windows = [torch.randint(len(self._words), (length,), generator=generator) for length in (3, 17, 17, 64)]
        for window, ours in zip(windows, self([window.tolist() for window in windows]), strict=True):
            near = torch.nn.functional.cosine_similarity(ours.float(), theirs(window).float(), dim=-1)
            if not bool((near > enough).all()):
                return False
        return True


def pack_bert(model: Any, device: str) -> PackedBert | None:
    """The quick way through this model; None where there is none, or where it does not give the same."""
    from transformers import BertModel

    if not (isinstance(model, BertModel) and device == "cpu"):
        return None
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    if model.config.is_decoder or model.config.hidden_act != "gelu":
        return None
    if model.dtype is torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return None
    with torch.inference_mode():
        quick = PackedBert(model)
        return quick if quick.agrees(model) else None


def pack_plain_bert(plain: PlainBert, dtype: torch.dtype) -> PackedBert | None:
    """As `pack_bert`, of a folder that needs no library to be read: those take 350 MB and five seconds."""
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return None
    if dtype is torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return None
    with torch.inference_mode():
        quick = PackedBert(_model_of(plain, dtype))
        return quick if quick.agrees_with_numpy(NumpyLayers(plain)) else None


def _model_of(plain: PlainBert, dtype: torch.dtype) -> Any:
    """What PackedBert reads of a `BertModel`, by the same names."""
    tree: dict[str, Any] = {}
    for name, values in plain.tensors.items():
        *parts, last = name.split(".")
        node = tree
        for part in parts:
            node = node.setdefault(part, {})
        node[last] = torch.from_numpy(values.copy()).to(dtype)
    model = _with_names(tree)
    model.config = SimpleNamespace(num_attention_heads=plain.heads)
    for place in [model.embeddings, *(part.output for part in model.encoder.layer)]:
        place.LayerNorm.eps = plain.epsilon
    for layer in model.encoder.layer:
        layer.attention.output.LayerNorm.eps = plain.epsilon
    return model


def _with_names(node: Any) -> Any:
    """Mappings as what has attributes, those whose keys are numbers as lists."""
    if not isinstance(node, dict):
        return node
    if all(name.isdigit() for name in node):
        return [_with_names(node[name]) for name in sorted(node, key=int)]
    return SimpleNamespace(**{name: _with_names(below) for name, below in node.items()})
