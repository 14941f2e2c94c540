"""A multimodal model over real HTTP looks at a page: believed where OCR bears it out, not where it makes things up."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO

import httpx2
import pytest
from PIL import Image

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.models.chat.factory import open_model
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.models.ports import ChatModel
from configs.sections_reading import VisionSettings
from pipelines.documents.document import Box, CaveatKind, EngineAttempt, Page, Word
from pipelines.documents.ocr.vision.agreement import measure_agreement
from pipelines.documents.ocr.vision.transcription import transcribed_page
from pipelines.documents.ocr.vision.vision_reader import VisionReader
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, failing
from tests.fakes.ocr import FakeClock

SCOPE = Scope.of_worker("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")
TRUTH = "The crane was inspected on 14.03.2024 by the works council\nand found without defects up to 12500 kilograms"
AS_READ = "Tne crane wos inspectod on 14.03.2024 by the wcrks councjl and fourd witnout defeots up to 12500 kilogroms"
INVENTED = "Quarterly revenue exceeded expectations because international customers ordered many additional licences"
OTHER_NUMBERS = TRUTH.replace("14.03.2024", "21.11.1999").replace("12500", "78300")


def weak_page(text: str = AS_READ, confidence: float = 0.45) -> Page:
    words, at = [], 0
    for token in text.split():
        at = text.index(token, at)
        words.append(Word(token, at, Box(at / 200, 0.1, (at + len(token)) / 200, 0.2), confidence))
        at += len(token)
    attempt = EngineAttempt("tesseract", confidence, 9, True)
    return Page(3, text, tuple(words), "tesseract", confidence, (attempt,))


def picture() -> bytes:
    made = BytesIO()
    Image.new("L", (1000, 1400), 200).save(made, "PNG")
    return made.getvalue()


@dataclass
class Budget:
    """Counts what is taken; says no from `most` on."""

    most: int = 100
    taken: list[int] = field(default_factory=list)

    async def take(self, scope: Scope, job: str, pixels: int) -> str:
        if len(self.taken) >= self.most:
            return "the model has looked at the pages that it may of one job"
        self.taken.append(pixels)
        return ""


@dataclass
class Bench:
    """A reader that asks one server."""

    reader: VisionReader
    budget: Budget
    clock: FakeClock

    async def look(self, page: Page | None = None) -> Page:
        return await self.reader.look(SCOPE, "job", page or weak_page(), picture())


@asynccontextmanager
async def asking(server: ModelServer, most: int = 100, **settings: object) -> AsyncIterator[Bench]:
    told = ModelConnection(
        ConnectionId("c"), "c", server.url, "scripted-1", Provider.OPENAI, AuthMode.BEARER, seconds=5
    )
    async with httpx2.AsyncClient(verify=False) as client:

        async def open_one(scope: Scope) -> ChatModel:
            return open_model(told, "sk-1234", client, asyncio.sleep, waits=())

        clock, budget = FakeClock(), Budget(most)
        made = VisionSettings.model_validate({"connection": "c", "seconds": 5, **settings})
        yield Bench(VisionReader(made, open_one, budget, clock), budget, clock)


def saying(text: str) -> Say:
    return Say(json.dumps({"text": text}, ensure_ascii=False))


def doubts(page: Page) -> list[str]:
    return [one.detail for one in page.caveats if one.kind is CaveatKind.READING_WEAK]


async def test_what_agrees_with_the_picture_is_kept_and_marked_as_the_models() -> None:
    with serve_model(saying(TRUTH)) as server:
        async with asking(server) as bench:
            page = await bench.look()
    assert (page.text, page.engine, page.caveats) == (TRUTH, "vision", ())
    assert [(one.engine, one.kept) for one in page.attempts] == [("tesseract", False), ("vision", True)]
    assert page.confidence == page.attempts[-1].confidence and 0.4 < page.confidence < 1
    assert all(page.text[word.start :].startswith(word.text) for word in page.words)
    boxes = {word.text: word.box for word in page.words}
    assert boxes["inspected"] == weak_page().words[3].box, "where OCR saw it"


async def test_the_picture_travels_as_a_data_url_no_larger_than_allowed() -> None:
    with serve_model(saying(TRUTH)) as server:
        async with asking(server, max_pixels=100_000) as bench:
            await bench.look()
        (asked,) = server.chats
    text, image = asked.body["messages"][-1]["content"]
    kind, _, data = image["image_url"]["url"].partition(";base64,")
    with Image.open(BytesIO(base64.b64decode(data))) as sent:
        assert sent.width * sent.height <= 100_000 and bench.budget.taken == [sent.width * sent.height]
    assert (text["type"], image["type"], kind) == ("text", "image_url", "data:image/jpeg")


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (INVENTED, "words"),
        (OTHER_NUMBERS, "numbers"),
        (f"{TRUTH}\n{INVENTED}\n{INVENTED}", "times as long"),
        ("The crane", "times as long"),
        ("", "no words"),
    ],
)
async def test_a_page_that_the_model_makes_up_is_refused(told: str, why: str) -> None:
    with serve_model(saying(told)) as server:
        async with asking(server) as bench:
            page = await bench.look()
    assert (page.text, page.engine, page.confidence) == (AS_READ, "tesseract", 0.45)
    assert page.attempts[-1].engine == "vision" and not page.attempts[-1].kept
    assert why in doubts(page)[0] and page.caveats[0].kind.weight == "unsure"


async def test_with_no_words_to_compare_with_nothing_is_believed() -> None:
    """Letters that OCR cannot read at all."""
    with serve_model(saying(TRUTH)) as server:
        async with asking(server) as bench:
            page = await bench.look(Page(3, "", (), "tesseract", 0.1))
    assert page.text == "" and "too few words" in doubts(page)[0]


async def test_a_page_that_ocr_is_sure_of_is_not_overruled() -> None:
    half = "The crane was inspected on 14.03.2024 by nobody whosoever because several rotten ladders were broken"
    with serve_model(saying(half)) as server:
        async with asking(server) as bench:
            page = await bench.look(weak_page(TRUTH.replace("\n", " "), 0.95))
    assert page.engine == "tesseract" and not page.attempts[-1].kept
    assert not doubts(page), "and is no worse for having been shown"


@pytest.mark.parametrize(
    "reply", [Say('{"text": "The crane was'), Say("I see a crane."), Say('{"words": 3}'), Say('["x"]')]
)
async def test_a_reply_that_is_no_such_object_leaves_the_page(reply: Say) -> None:
    with serve_model(reply) as server:
        async with asking(server) as bench:
            page = await bench.look()
    assert page.text == AS_READ and "no JSON object" in doubts(page)[0]


async def test_a_transcription_that_was_cut_off_is_not_taken_for_the_page() -> None:
    with serve_model(Say(json.dumps({"text": TRUTH}), finish="length")) as server:
        async with asking(server) as bench:
            assert (await bench.look()).text == AS_READ


async def test_an_outage_leaves_pages_degraded_and_the_breaker_opens_and_half_opens() -> None:
    with serve_model(failing(500), failing(503), failing(500), saying(TRUTH)) as server:
        async with asking(server, failures=2, rest_seconds=60) as bench:
            assert "no model answered" in doubts(await bench.look())[0]
            assert bench.reader.breaker.state == "closed"
            await bench.look()
            assert bench.reader.breaker.state == "open"
            assert "left alone" in doubts(await bench.look())[0]
            assert len(server.chats) == 2, "nobody is asked while it is open"
            bench.clock.now += 61
            assert bench.reader.breaker.state == "half_open"
            await bench.look()
            assert bench.reader.breaker.state == "open", "one failure in the half-open state opens it again"
            bench.clock.now += 61
            page = await bench.look()
            assert (page.text, bench.reader.breaker.state, len(server.chats)) == (TRUTH, "closed", 4)


async def test_a_model_that_stalls_is_given_up() -> None:
    with serve_model(Say(json.dumps({"text": TRUTH}), upto=1, after="hang")) as server:
        async with asking(server, seconds=0.3, failures=1) as bench:
            page = await bench.look()
            assert "within 0.3 s" in doubts(page)[0] and bench.reader.breaker.state == "open"


async def test_in_the_half_open_state_one_page_tries_and_the_others_are_left() -> None:
    with serve_model(failing(500), Say(json.dumps({"text": TRUTH}), wait=0.3)) as server:
        async with asking(server, failures=1, rest_seconds=60) as bench:
            await bench.look()
            bench.clock.now += 61
            pages = await asyncio.gather(*(bench.look() for _ in range(3)))
            assert sorted(page.engine for page in pages) == ["tesseract", "tesseract", "vision"]
            assert len(server.chats) == 2


async def test_an_exhausted_budget_asks_nobody_and_blames_nobody() -> None:
    with serve_model(saying(TRUTH)) as server:
        async with asking(server, most=1, failures=1) as bench:
            assert (await bench.look()).engine == "vision"
            page = await bench.look()
            assert "that it may" in doubts(page)[0] and len(server.chats) == 1
            assert bench.reader.breaker.state == "closed"


async def test_a_picture_that_is_none_is_sent_nowhere() -> None:
    with serve_model(saying(TRUTH)) as server:
        async with asking(server) as bench:
            page = await bench.reader.look(SCOPE, "job", weak_page(), b"\x89PNG garbage")
        assert "cannot be sent" in doubts(page)[0] and not server.chats


async def test_a_connection_that_nobody_knows_is_said_on_the_page() -> None:
    async def missing(scope: Scope) -> ChatModel:
        raise Invalid("no connection is called c")

    budget = Budget()
    reader = VisionReader(VisionSettings(connection="c", failures=1), missing, budget)
    page = await reader.look(SCOPE, "job", weak_page(), picture())
    assert "no connection is called c" in doubts(page)[0] and reader.breaker.state == "closed"
    assert budget.taken == [], "nothing was sent, and nothing is spent"


async def test_a_page_that_both_see_nothing_on_is_in_no_doubt() -> None:
    blank = Page(3, "~ ;", (Word("~", 0, Box(0, 0, 1, 1), 0.1),), "tesseract", 0.1)
    with serve_model(saying("")) as server:
        async with asking(server) as bench:
            page = await bench.look(blank)
    assert (page.text, page.caveats) == (blank.text, ()) and not page.attempts[-1].kept


async def test_what_is_spent_leaves_a_page_that_ocr_is_sure_of_as_it_is() -> None:
    sure = weak_page(TRUTH.replace("\n", " "), 0.97)
    with serve_model(saying(TRUTH)) as server:
        async with asking(server, most=0) as bench:
            assert await bench.look(sure) == sure


def test_a_table_of_zeros_is_placed_in_milliseconds() -> None:
    zeros = weak_page("total " * 20 + "0 " * 600)
    began = time.process_time()
    agreement = measure_agreement(zeros.words, zeros.text)
    placed = transcribed_page(zeros, zeros.text, agreement, zeros.attempts[0])
    assert len(placed.words) == 620 and time.process_time() - began < 1
