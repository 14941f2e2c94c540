"""A sentence-transformers model, taken apart: texts to token windows, windows to vectors."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings
from cluster.models.embedding import weights
from cluster.models.embedding.plain_bert import PlainBert
from cluster.models.embedding.prefixes import prefix_parts
from cluster.models.embedding.sentence_tokens import POLICY, SentenceTokens, Window
from cluster.models.embedding.vector_rows import encoder_fingerprint
from cluster.models.ports import ENGLISH_MODEL, EmbedderFacts
from configs.sections_retrieval import EmbeddingSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

# The model up to its last layer: for each window its tokens' vectors, shape (len(window), width).
Layers = Callable[[Sequence[Window]], "list[Tensor]"]


class WindowEncoder(Protocol):
    """A model as an embedder needs it; plain functions that take the processor for a while."""

    facts: EmbedderFacts
    device: str  # where it computes, by torch's name

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text, in windows that the model can read whole; at least one each."""

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Vectors of length 1: shape (len(windows), dimension)."""


class SentenceEncoder:
    """A model in the layout of sentence-transformers, read from a local folder."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        """Load the weights; takes seconds. Raises InvalidSettings: no such model, none for sentences, or no GPU."""
        folder = weights.locate_weights(settings.model)
        self.device = weights.choose_device(settings.gpu)
        dtype = weights.choose_dtype(settings.dtype, self.device)
        self._heads: list[Any] | None = None  # what makes one vector of the tokens'; None: their mean
        self.is_packed = True  # computed by `cluster.models.embedding.bert`, not as the library does it
        tokenizer, window, dimension = self._load_plain(folder, settings, dtype) or self._load(folder, settings, dtype)
        self._tokens = SentenceTokens(tokenizer, window)
        name = ENGLISH_MODEL if settings.model == "packaged" else settings.model
        stamp = encoder_fingerprint(weights.weights_digest(folder), POLICY, window, *prefix_parts(settings))
        self.facts = EmbedderFacts(name, dimension, window, stamp, settings.query_prefix, settings.passage_prefix)

    def _load_plain(
        self, folder: Path, settings: EmbeddingSettings, dtype: weights.Dtype
    ) -> tuple["Tokenizer", int, int] | None:
        """Tokenizer, window and dimension of a model that needs no library; None of another."""
        import torch

        from cluster.models.embedding.bert import pack_plain_bert

        if self.device != "cpu":
            return None
        try:
            plain = PlainBert.read(folder, settings.model)
        except InvalidSettings:  # another kind
            return None
        quick = pack_plain_bert(plain, getattr(torch, dtype))
        if quick is None:
            return None
        self._layers: Layers = quick
        return plain.tokenizer(), plain.window, plain.width

    def _load(self, folder: Path, settings: EmbeddingSettings, dtype: weights.Dtype) -> tuple["Tokenizer", int, int]:
        import torch
        from sentence_transformers import SentenceTransformer

        from cluster.models.embedding.bert import pack_bert

        try:
            how = {"dtype": getattr(torch, dtype)}
            model = SentenceTransformer(str(folder), device=self.device, local_files_only=True, model_kwargs=how)
        except (OSError, ValueError, KeyError) as error:
            raise InvalidSettings(f"{settings.model}: cannot be loaded as a sentence model: {error}") from error
        # Pooling and what follows it stay in full precision: a mean over 256 rows loses digits in bfloat16.
        transformer, *self._heads = [module.eval() for module in model]
        for head in self._heads:
            head.float()
        quick = pack_bert(getattr(transformer, "auto_model", None), self.device)
        self.is_packed = quick is not None
        self._layers = quick or _Padded(transformer, self.device, model.tokenizer.pad_token_id or 0)
        window = model.get_max_seq_length()
        dimension = model.get_embedding_dimension()
        if not window or not dimension:
            raise InvalidSettings(f"{settings.model}: names no window or dimension", fix="choose another model")
        return model.tokenizer.backend_tokenizer, window, dimension

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text between the model's special tokens, in as many windows as it takes."""
        return self._tokens.windows(texts)

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """One pass through the model."""
        import torch

        with torch.inference_mode():
            tokens = [rows.float() for rows in self._layers(windows)]
            if self._heads is None:
                means = torch.stack([rows.mean(dim=0) for rows in tokens])
                return np.asarray(torch.nn.functional.normalize(means, dim=-1).numpy(), dtype=np.float32)
            mask = [torch.ones(len(rows), dtype=torch.long, device=rows.device) for rows in tokens]
            features = {"token_embeddings": _side_by_side(tokens), "attention_mask": _side_by_side(mask)}
            for head in self._heads:
                features = head(features)
            vectors = torch.nn.functional.normalize(features["sentence_embedding"].float(), dim=-1)
        return vectors.cpu().numpy().astype(np.float32, copy=False)


class _Padded:
    """The layers of any model as the library runs them: every window as long as the longest."""

    def __init__(self, transformer: Any, device: str, pad: int) -> None:
        self._transformer, self._device, self._pad = transformer, device, pad

    def __call__(self, windows: Sequence[Window]) -> "list[Tensor]":
        import torch

        longest = max(map(len, windows))
        ids = torch.tensor([[*window, *[self._pad] * (longest - len(window))] for window in windows])
        lengths = torch.tensor([len(window) for window in windows])
        mask = (torch.arange(longest) < lengths[:, None]).long()
        found = self._transformer({"input_ids": ids.to(self._device), "attention_mask": mask.to(self._device)})
        return [rows[: len(window)] for rows, window in zip(found["token_embeddings"], windows, strict=True)]


def _side_by_side(rows: "Sequence[Tensor]") -> "Tensor":
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence(list(rows), batch_first=True)
