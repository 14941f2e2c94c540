"""A place's questions and their vectors in this process's memory: one matrix, asked with one product."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_FIXED = struct.Struct("<16sqdI")  # name, corpus version, moment, dimension; then the vector and the question
UNIT = 0.02  # how far a vector's length may be from 1; what is farther was not written by us


@dataclass(frozen=True, slots=True)
class EntryHead:
    """Head of a cache entry: the question and vector that are compared before the entry is fetched."""

    name: str  # of the entry within its place
    version: int  # of the corpus that it rests on
    at: float  # when it was worked out, seconds since the epoch
    question: str  # as it was asked
    vector: Vector  # of length 1, shape (dimension,)

    def packed(self) -> bytes:
        """As it is kept."""
        vector = np.ascontiguousarray(self.vector, dtype="<f4")
        fixed = _FIXED.pack(self.name.encode("ascii"), self.version, self.at, vector.shape[0])
        return fixed + vector.tobytes() + self.question.encode("utf-8", "replace")


def unpack_head(raw: bytes) -> EntryHead | None:
    """A head that was kept; None where these bytes are none."""
    if len(raw) < _FIXED.size:
        return None
    name, version, at, dimension = _FIXED.unpack_from(raw)
    end = _FIXED.size + 4 * dimension
    if not dimension or len(raw) < end or not math.isfinite(at):
        return None
    vector = np.frombuffer(raw, dtype="<f4", count=dimension, offset=_FIXED.size).astype(np.float32)
    try:
        question, named = raw[end:].decode("utf-8"), name.decode("ascii")
    except UnicodeDecodeError:
        return None
    if not np.isfinite(vector).all() or abs(float(vector @ vector) - 1) > UNIT:
        return None
    return EntryHead(named, version, at, question, vector)


@dataclass(frozen=True, slots=True)
class NearQuestion:
    """A remembered question and its cosine to the one that is asked."""

    similarity: float
    name: str
    question: str


class PartitionMirror:
    """The heads of one place that rest on one version of the corpus."""

    def __init__(self, version: int, most: int) -> None:
        """`most` heads are held; the oldest make room."""
        self.version = version
        self.read_to = 0.0  # score of the last head that was read
        self._most = most
        self._names: list[str] = []
        self._questions: list[str] = []
        self._rows: dict[str, int] = {}
        self._at = np.empty(0, dtype=np.float64)
        self._matrix: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, head: EntryHead) -> None:
        """Take a head in, in place of an earlier one of its name; one of another version is left out."""
        if head.version != self.version:
            return
        if self._names and head.vector.shape[0] != self._matrix.shape[1]:
            return
        row = self._rows.get(head.name)
        if row is None:
            if len(self._names) == self._most:
                self.forget(self._names[int(np.argmin(self._at[: len(self._names)]))])
            row = len(self._names)
            self._make_room(row, head.vector.shape[0])
            self._names.append(head.name)
            self._questions.append(head.question)
            self._rows[head.name] = row
        self._questions[row], self._at[row], self._matrix[row] = head.question, head.at, head.vector

    def forget(self, name: str) -> None:
        """Its entry is gone."""
        row = self._rows.pop(name, None)
        if row is None:
            return
        last = len(self._names) - 1
        if row != last:
            self._names[row], self._questions[row] = self._names[last], self._questions[last]
            self._at[row], self._matrix[row] = self._at[last], self._matrix[last]
            self._rows[self._names[row]] = row
        self._names.pop()
        self._questions.pop()

    def near(self, vector: Vector, most: int) -> list[NearQuestion]:
        """The nearest, best first."""
        count = len(self._names)
        if not count or vector.shape[0] != self._matrix.shape[1]:
            return []
        scores = self._matrix[:count] @ vector
        best: Sequence[int] = np.argsort(-scores, kind="stable")[:most].tolist()
        return [NearQuestion(float(scores[row]), self._names[row], self._questions[row]) for row in best]

    def _make_room(self, row: int, dimension: int) -> None:
        if row < len(self._at) and self._matrix.shape[1] == dimension:
            return
        room = max(16, 2 * row)
        matrix = np.empty((room, dimension), dtype=np.float32)
        at = np.empty(room, dtype=np.float64)
        matrix[:row], at[:row] = self._matrix[:row] if row else matrix[:0], self._at[:row]
        self._matrix, self._at = matrix, at
