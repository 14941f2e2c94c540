"""Pages as values: they travel between processes whole, and boxes are put around what belongs together."""

import pickle

import pytest

from pipelines.documents.document import (
    Box,
    Caveat,
    CaveatKind,
    EngineAttempt,
    Failure,
    FailureReason,
    Page,
    Word,
    bounding_box,
)

WORDS = (Word("Net", 0, Box(0.1, 0.2, 0.3, 0.25), 0.75), Word("sum", 4, Box(0.35, 0.2, 0.5, 0.26)))
PAGES = [
    Page(1, ""),
    Page(2, "Net sum", WORDS, "tesseract+paddle", 0.875, (EngineAttempt("paddle", 0.9, 12, True, "line 1"),), 31),
    Page(3, "", failure=Failure("extract", FailureReason.TIMEOUT, "no result", retryable=True)),
    Page(4, "Net", WORDS[:1], caveats=(Caveat(CaveatKind.ATTACHMENTS_UNREAD, "one", 1),)),
]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_the_same_in_another_process(page: Page) -> None:
    assert pickle.loads(pickle.dumps(page)) == page


def test_the_smallest_rectangle_holds_all_boxes() -> None:
    assert bounding_box([word.box for word in WORDS]) == Box(0.1, 0.2, 0.5, 0.26)
