"""The helper processes of an embedder: torch in a guarded child, one for each priority."""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import DiskFull, Unavailable
from cluster.basics.priority import ProcessPriority
from cluster.models.embedding.assisted_encoder import EncoderProcess, load_torch_encoder
from cluster.models.embedding.sentence_tokens import Window
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.guarded_child import CallTimeout, ChildDied, GuardedChild

BATCH_CPU_SECONDS = 120.0  # of one batch, which takes half a second where a core is free
SILENT_SECONDS = 30.0  # without any CPU: it is stopped or hangs, and who waits for it is answered without it


class GuardedEncoder:
    """An `EncoderProcess`."""

    def __init__(self, settings: EmbeddingSettings, priority: ProcessPriority) -> None:
        """Nothing is begun yet."""
        make = functools.partial(load_torch_encoder, settings, priority)
        self._child = GuardedChild(make, name="encoder")

    def start(self) -> None:
        """See `EncoderProcess`."""
        try:
            self._child.warm_up()
        except OSError as error:  # a machine that has no room for another process
            raise Unavailable(f"its process cannot be begun: {error}") from error
        if self._child.pid is None:
            raise Unavailable("its process ended at the start")

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """See `EncoderProcess`."""
        try:
            found: NDArray[np.float32] = self._child.call(
                "encode", windows, seconds=SILENT_SECONDS, cpu_seconds=BATCH_CPU_SECONDS
            )
        except (CallTimeout, ChildDied, DiskFull) as error:
            raise Unavailable(f"{type(error).__name__}: {error}") from error
        return found

    def close(self) -> None:
        """See `EncoderProcess`."""
        self._child.close()


def encoder_processes(settings: EmbeddingSettings) -> Mapping[ProcessPriority, EncoderProcess]:
    """One for whom people wait, one behind everything else; neither is begun yet."""
    return {level: GuardedEncoder(settings, level) for level in (ProcessPriority.NORMAL, ProcessPriority.LOW)}
