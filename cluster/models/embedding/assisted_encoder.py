"""Questions are computed in numpy here; torch, in a process of its own, is begun for much work and ends after it."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.basics.priority import ProcessPriority, end_me_first, gives_way, lower_thread_priority
from cluster.models.embedding.encoder import SentenceEncoder, WindowEncoder
from cluster.models.embedding.sentence_tokens import Window
from cluster.models.embedding.weights import use_cores
from configs.sections_retrieval import EmbeddingSettings

_log = logging.getLogger("aos.embedding")

# Numpy takes about 0.35 CPU-ms a token, torch half of that or less, and three seconds of CPU to begin: from here on the
# rest of the work is likely to be worth them. Work that trickles in is forgotten at so many tokens a second.
MUCH_TOKENS, FORGOTTEN_TOKENS = 4_096, 200.0
REST_SECONDS = 60.0  # without work; then it ends


class EncoderProcess(Protocol):
    """An encoder in a process of its own."""

    def start(self) -> None:
        """Begin it, which takes seconds. Raises Unavailable: it does not come up."""

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """As `WindowEncoder.encode`. Raises Unavailable: it has ended, or does not answer."""

    def close(self) -> None:
        """End it; it can be started again."""


class EncoderHelper:
    """An `EncoderProcess` that is there while there is much to do, and never waited for."""

    def __init__(self, process: EncoderProcess, clock: Callable[[], float], rest_seconds: float) -> None:
        """Nothing is begun yet."""
        self._process, self._clock, self._rest = process, clock, rest_seconds
        self._state = threading.Lock()
        self._is_there = self._is_coming = self._is_busy = False
        self._load, self._last = 0.0, clock()

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32] | None:
        """Their vectors; None where it is not there, is no longer, or computes for somebody else."""
        with self._state:
            now, tokens = self._clock(), sum(map(len, windows))
            self._load = max(0.0, self._load - FORGOTTEN_TOKENS * (now - self._last)) + tokens
            self._last = now
            if not self._is_there:
                if self._load >= MUCH_TOKENS and not self._is_coming:
                    self._is_coming = True
                    threading.Thread(target=self._stay, name="aos-encoder-helper", daemon=True).start()
                return None
            if self._is_busy:
                return None
            self._is_busy = True
        try:
            return self._process.encode(windows)
        except Unavailable as error:
            _log.warning("the embedder goes on without its helper: %s", error)
            with self._state:
                self._is_there, self._load = False, 0.0
            return None
        finally:
            with self._state:
                self._is_busy, self._last = False, self._clock()

    def _stay(self) -> None:
        """From its start to its end, in a thread of its own: nobody looks at the clock while there is no helper."""
        try:
            self._process.start()
            with self._state:
                self._is_there, self._last = True, self._clock()
            while self._is_wanted():
                time.sleep(self._rest / 10)
        except Unavailable as error:
            _log.warning("the embedder's helper does not start: %s", error)
        finally:
            self._process.close()
            with self._state:
                self._is_there = self._is_coming = False
                self._load = 0.0

    def _is_wanted(self) -> bool:
        """Decided where calls begin, so that none begins with one that ends; and nothing ends beneath a call."""
        with self._state:
            rests = not self._is_busy and self._clock() - self._last >= self._rest
            self._is_there = self._is_there and not rests
            return self._is_there


class AssistedEncoder:
    """A `WindowEncoder`: both of its ways give the same vectors, rounding aside, so it never matters which did."""

    def __init__(
        self,
        own: WindowEncoder,
        helpers: Mapping[ProcessPriority, EncoderProcess],
        clock: Callable[[], float] = time.monotonic,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """`helpers`: one for whom people wait (NORMAL), one for what stands behind everything else (LOW)."""
        self._own, self.facts, self.device = own, own.facts, own.device
        self._helpers = {level: EncoderHelper(one, clock, rest_seconds) for level, one in helpers.items()}

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """See `WindowEncoder`."""
        return self._own.windows(texts)

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        """See `WindowEncoder`; for the priority of the thread that calls."""
        level = ProcessPriority.LOW if gives_way() else ProcessPriority.NORMAL
        found = self._helpers[level].encode(windows)
        return self._own.encode(windows) if found is None else found


def load_torch_encoder(settings: EmbeddingSettings, priority: ProcessPriority) -> SentenceEncoder:
    """In the helper's process: the model by torch, on all cores; what is LOW goes behind others as a thread would here.

    Not as readers do, behind every other session: on a machine that is never idle a batch would take minutes. Where
    memory runs out it is the first to go, as it is missed by nobody.

    Raises InvalidSettings as `SentenceEncoder`.
    """
    end_me_first()
    if priority is not ProcessPriority.NORMAL:
        lower_thread_priority()
    use_cores()
    return SentenceEncoder(settings.model_copy(update={"gpu": False}))
