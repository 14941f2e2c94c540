"""The walk of eval-corrections: a citation that no page says is stale, one that its page says is not."""

import random
from typing import Any

import httpx
import pytest

from tests.evals.correction_walk import CorrectionFigures, CorrectionWalk, PageText

DOCUMENT = "d" * 32


def walk_over(page: str, quote: str) -> CorrectionWalk:
    """A walk over an API whose only page says this, and whose answers and stored answers quote that."""
    cited: dict[str, Any] = {"document_id": DOCUMENT, "page": 1, "start": 0, "end": len(quote), "quote": quote}
    cited |= {"withheld": None, "corrections": []}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/ask":
            return httpx.Response(200, json={"id": "a", "citations": [cited]})
        if request.url.path.endswith("/why"):
            return httpx.Response(200, json={"citations": [cited]})
        return httpx.Response(200, json={"text": page})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://aos.test")
    walk = CorrectionWalk(client, random.Random(1))
    walk._texts[DOCUMENT, 1] = [PageText(page, 0.0)]
    return walk


@pytest.mark.parametrize(("quote", "stale"), [("The lease", 0), ("The lcase", 2)])
async def test_citations_are_held_against_what_the_page_says(quote: str, stale: int) -> None:
    walk = walk_over("The lease ends.", quote)
    await walk._ask("When?")
    (kept,) = walk._answers
    await walk._look_into(kept, {(DOCUMENT, 1): "The lease ends."})
    assert len(walk.figures.stale) == stale and walk.figures.citations == 2


async def test_a_text_that_was_right_while_the_answer_was_made_is_right() -> None:
    walk = walk_over("The lease ends.", "The lcase")
    walk._texts[DOCUMENT, 1] = [PageText("The lcase ends.", 0.0), PageText("The lease ends.", 0.0)]
    await walk._ask("When?")
    assert walk.figures.stale == []


def test_figures_of_nothing_hold_no_goal() -> None:
    assert CorrectionFigures().slowest == float("inf") == CorrectionFigures().within(0.95)
    figures = CorrectionFigures(seconds=[0.1, 0.4, 0.2, 3.0])
    assert (figures.within(0.5), figures.slowest) == (0.4, 3.0)
