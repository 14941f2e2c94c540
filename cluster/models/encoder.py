"""A sentence-transformers model, taken apart: texts to token windows, windows to vectors."""

from collections.abc import Sequence
from hashlib import sha256
from math import ceil
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import InvalidSettings
from cluster.models import weights
from cluster.models.ports import EmbedderFacts
from configs.sections import EmbeddingSettings

OVERLAP = 16
POLICY = "windows of equal length, 16 tokens of overlap, token-weighted mean"
Window = Sequence[int]


class Encoder(Protocol):
    """What an embedder needs of a model; plain functions that take the processor for a while."""

    facts: EmbedderFacts

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text, in windows that the model can read whole; at least one each."""
        ...

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """Vectors of length 1: shape (len(windows), dimension)."""
        ...


class SentenceEncoder:
    """A model in the layout of sentence-transformers, read from a local folder."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        """Load the weights; takes seconds.

        Raises:
            InvalidSettings: no such model, not one for sentences, or no GPU where one is asked for.
        """
        import torch
        from sentence_transformers import SentenceTransformer

        folder = weights.locate(settings.model)
        self._device = weights.device(settings.gpu)
        dtype = weights.dtype(settings.dtype, self._device)
        try:
            model = SentenceTransformer(
                str(folder),
                device=self._device,
                local_files_only=True,
                model_kwargs={"dtype": getattr(torch, dtype)},
            )
        except (OSError, ValueError, KeyError) as error:
            raise InvalidSettings(f"{settings.model}: cannot be loaded as a sentence model: {error}") from error
        # Pooling and what follows it stay in full precision: a mean over 256 rows loses digits in bfloat16.
        self._transformer, *self._heads = [module.eval() for module in model]
        for head in self._heads:
            head.float()
        self._tokens = model.tokenizer.backend_tokenizer
        self._tokens.no_truncation()
        self._tokens.no_padding()
        self._before, self._after = self._frame()
        self._pad = model.tokenizer.pad_token_id or 0
        window = model.get_max_seq_length()
        dimension = model.get_embedding_dimension()
        if not window or not dimension:
            raise InvalidSettings(f"{settings.model}: names no window or dimension", fix="choose another model")
        name = "all-MiniLM-L6-v2" if settings.model == "packaged" else settings.model
        stamp = fingerprint(weights.identity(folder), dtype, POLICY, window)
        self.facts = EmbedderFacts(name, dimension, window, stamp)

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """The tokens of each text between the model's special tokens, in as many windows as it takes."""
        room = self.facts.window - len(self._before) - len(self._after)
        found = self._tokens.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            [[*self._before, *part, *self._after] for part in cut(encoding.ids, room, OVERLAP)] for encoding in found
        ]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """One pass through the model, padded to the longest window."""
        import torch

        longest = max(map(len, windows))
        ids = torch.tensor([[*window, *[self._pad] * (longest - len(window))] for window in windows])
        lengths = torch.tensor([len(window) for window in windows])
        mask = (torch.arange(longest) < lengths[:, None]).long()
        with torch.inference_mode():
            features = {"input_ids": ids.to(self._device), "attention_mask": mask.to(self._device)}
            features = self._transformer(features)
            features["token_embeddings"] = features["token_embeddings"].float()
            for head in self._heads:
                features = head(features)
            vectors = torch.nn.functional.normalize(features["sentence_embedding"].float(), dim=-1)
        return vectors.cpu().numpy().astype(np.float32, copy=False)

    def _frame(self) -> tuple[list[int], list[int]]:
        """The special tokens before and after a text."""
        bare = self._tokens.encode("a", add_special_tokens=False).ids
        full = self._tokens.encode("a", add_special_tokens=True).ids
        at = next(n for n in range(len(full)) if full[n : n + len(bare)] == bare)
        return full[:at], full[at + len(bare) :]


def cut(tokens: Sequence[int], room: int, overlap: int) -> list[Sequence[int]]:
    """Windows of nearly equal length, at most `room` tokens; a short last window would say little about the tail."""
    if len(tokens) <= room:
        return [tokens]
    overlap = min(overlap, room // 2)
    count = ceil((len(tokens) - overlap) / (room - overlap))
    step = (len(tokens) - overlap) / count
    starts = [round(n * step) for n in range(count)]
    return [tokens[start : min(start + ceil(step) + overlap, start + room)] for start in starts]


def fingerprint(*parts: object) -> str:
    """16 hex digits that name a way to make vectors."""
    return sha256(repr(parts).encode()).hexdigest()[:16]
