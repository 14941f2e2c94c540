"""The line engine in a process of its own: torch's memory stays out of the one that opens files."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import STALL_SECONDS, CallTimeout, ChildDied, GuardedChild, TookTooMuch
from pipelines.documents.ocr.reading import EngineMissing, LineEngine, LineTranscript, Picture, PixelArea


class LineEngineProcess:
    """A LineEngine that is made and asked in a guarded child, which is started when a page first needs it."""

    name = "easyocr"

    def __init__(self, make: Callable[[], LineEngine], memory_bytes: int, cpu_seconds: float) -> None:
        """`make` is pickled and makes the engine in the child; one call may cost so many `cpu_seconds`."""
        self._guard = GuardedChild(partial(LineEngineHost, make), memory_bytes=memory_bytes, name=self.name)
        self._cpu_seconds = cpu_seconds

    @property
    def child(self) -> int | None:
        """Process id of the child while there is one."""
        return self._guard.pid

    def recognise(self, image: Picture, areas: Sequence[PixelArea]) -> tuple[LineTranscript, ...]:
        """See `LineEngine.recognise`; of a page only the part travels that holds the areas."""
        if not areas:
            return ()
        height, width = image.shape[:2]
        left, right = max(int(min(a.x0 for a in areas)), 0), min(int(max(a.x1 for a in areas)), width)
        top, bottom = max(int(min(a.y0 for a in areas)), 0), min(int(max(a.y1 for a in areas)), height)
        if right <= left or bottom <= top:
            return tuple(LineTranscript("", 0.0) for _ in areas)
        moved = [PixelArea(a.x0 - left, a.y0 - top, a.x1 - left, a.y1 - top) for a in areas]
        return tuple(self._call_child("recognise", image[top:bottom, left:right].copy(), moved))

    def detect(self, image: Picture) -> tuple[PixelArea, ...]:
        """See `LineEngine.detect`."""
        return tuple(self._call_child("detect", image))

    def close(self) -> None:
        """End the child."""
        self._guard.close()

    def _call_child(self, method: str, *arguments: object) -> Any:
        return call_engine(self._guard, self.name, method, *arguments, cpu_seconds=self._cpu_seconds)


def call_engine(guard: GuardedChild, name: str, method: str, *arguments: object, cpu_seconds: float) -> Any:
    """The value of a method in an engine's child, which answers as `catch_missing` does.

    Raises:
        Unreadable: timeout (retryable where it hung without using CPU), bomb or crashed.
        EngineMissing: not installed, or its models are not there.
    """
    try:
        kind, value = guard.call(method, *arguments, seconds=STALL_SECONDS, cpu_seconds=cpu_seconds)
    except CallTimeout as error:
        again = not isinstance(error, TookTooMuch)
        raise Unreadable(FailureReason.TIMEOUT, f"{name}: {error}", retryable=again) from None
    except ChildDied as death:
        if death.starved:
            raise Unreadable(FailureReason.BOMB, "OCR needs more memory than ocr.memory_bytes allows") from None
        raise Unreadable(FailureReason.CRASHED, f"{name} {death}"[:250], retryable=True) from None
    if kind == "missing":
        raise EngineMissing(value[0], fix=value[1])
    return value


class LineEngineHost:
    """In the child: the engine, whose absence travels as a value."""

    def __init__(self, make: Callable[[], LineEngine]) -> None:
        self._engine = make()

    def recognise(self, image: Picture, areas: Sequence[PixelArea]) -> tuple[str, Any]:
        """("value", transcripts) or ("missing", (detail, fix))."""
        return catch_missing(lambda: self._engine.recognise(image, areas))

    def detect(self, image: Picture) -> tuple[str, Any]:
        """("value", areas) or ("missing", (detail, fix))."""
        return catch_missing(lambda: self._engine.detect(image))


def catch_missing(work: Callable[[], Any]) -> tuple[str, Any]:
    """("value", what the work gives) or ("missing", (detail, fix)), in the child."""
    try:
        return "value", work()
    except EngineMissing as error:
        return "missing", (error.detail, error.hint)
