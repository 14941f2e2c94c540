"""From the risk that an operator accepts to the similarity from which on a question may stand for another."""

import json
from dataclasses import dataclass
from pathlib import Path

from cluster.basics.errors import InvalidSettings
from configs.sections_retrieval import CacheSettings

MEASURED = Path(__file__).with_name("calibration.json")


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """False hits at a similarity: the share of look-alikes that are near enough and pass the comparison of words."""

    similarity: float
    false_hits: float  # of the source of look-alikes that has most, and no less than chance may hide of all of them


@dataclass(frozen=True, slots=True)
class RiskCalibration:
    """Measured shares of false hits, lowest similarity first, which hold for one embedder."""

    embedder: str  # its name, without the owner before a slash
    rows: tuple[CalibrationRow, ...]

    @classmethod
    def read(cls, path: Path = MEASURED) -> "RiskCalibration":
        """The table that `make eval-cache` measures. Raises InvalidSettings where the file is no such table."""
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            rows = [CalibrationRow(float(row["similarity"]), float(row["false_hits"])) for row in told["rows"]]
            embedder = _bare_name(told["embedder"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidSettings(f"{path.name}: no calibration of the cache: {error}") from error
        return cls(embedder, tuple(sorted(rows, key=lambda row: row.similarity)))

    def threshold(self, settings: CacheSettings, embedder: str) -> float | None:
        """The similarity from which on other words may be the same question; None where only the same words are.

        It is the lowest from which on the false hits measured stay within `settings.risk`, unless
        `settings.similarity_threshold` says another one by hand. Without a risk, and with an embedder that was not
        measured, no other words are.
        """
        if settings.risk == 0:
            return None
        if settings.similarity_threshold is not None:
            return settings.similarity_threshold
        return self.similarity_for(settings.risk) if _bare_name(embedder) == self.embedder else None

    def similarity_for(self, risk: float) -> float | None:
        """The lowest similarity from which on no row has more false hits; None where even the highest has."""
        found = None
        for row in reversed(self.rows):
            if row.false_hits > risk:
                break
            found = row.similarity
        return found


def _bare_name(embedder: str) -> str:
    return embedder.rpartition("/")[2].lower()
