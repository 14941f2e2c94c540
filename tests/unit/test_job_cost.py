"""What is left of a job in seconds: measured pages count as they were, and a scan is dearer than a text."""

from typing import Any

import pytest

from pipelines.documents.ingest.job_cost import seconds_left


def left(kind: str, pages: int, measured: int = 0, ms: float | None = None) -> dict[str, Any]:
    return {"kind": kind, "pages": pages, "measured": measured, "ms": ms}


@pytest.mark.parametrize(
    ("kinds", "units", "seconds"),
    [
        ([], 0, 0),
        ([], 8, 2),
        ([left("text", 200)], 0, 10),
        ([left("pdf", 300)], 0, 15),  # scanned or not is not known yet
        ([left("pdf", 297, 2, 2000)], 0, 14.85),  # nor is it by two pages
        ([left("pdf", 290, 10, 1970)], 0, 580),
        ([left("pdf", 290, 10, 10)], 0, 11.6),
        ([left("image", 10)], 0, 10.3),
        ([left("image", 10), left("text", 100, 5, 70)], 4, 10.3 + 10 + 1),
    ],
)
def test_seconds_left(kinds: list[dict[str, Any]], units: int, seconds: float) -> None:
    assert seconds_left(kinds, units) == pytest.approx(seconds)
