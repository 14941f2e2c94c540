"""Models' servers whose answers are packed, endless or lie: refused by name, in bounded memory; another is asked."""

import asyncio
import gzip
import json
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from cluster.basics.bounded_answers import ANSWER_BYTES, AnswerBounds, AnswerRefused
from cluster.basics.errors import AosError, Unavailable
from cluster.models.chat.anthropic_chat import AnthropicChat
from cluster.models.chat.client import OpenAiChat
from cluster.models.chat.factory import open_model
from cluster.models.connections.egress import EgressPolicy, model_client, model_clients
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection, Provider
from cluster.models.connections.probe import ProbeFailure, probe_connection
from cluster.models.embedding.embedders import open_embedder
from cluster.models.embedding.endpoint import ApiEmbedder
from cluster.models.embedding.provider_chain import choose_provider
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, ReplyDelta
from cluster.models.reranking.remote import RemoteReranker
from cluster.models.routing.router import ModelRouter
from configs.sections import LlmSettings
from configs.sections_retrieval import EmbeddingSettings, RerankSettings
from tests.fakes.flood_server import EVENTS, JSON, PACKINGS, Flood, bomb, endless, flooding, packed, text, trickle
from tests.fakes.model_wires import (
    Say,
    anthropic_body,
    anthropic_end,
    anthropic_frames,
    openai_body,
    openai_end,
    openai_frames,
)
from tests.fakes.routing import SCOPE, MemoryPurse, ScriptedModel, Shelf

BOTH = pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC])
ASK = ChatRequest((ModelMessage("user", "hi"),))
SMALL = AnswerBounds(answer=1 << 18, event=1 << 16)
SECRET = b"a-secret-of-the-body "
DIALECTS = (OpenAiChat, AnthropicChat)  # loaded before any clock runs: a library takes ten seconds on busy cores
MOST_MEMORY = 128 << 20  # of any test here; each bomb holds twice as much


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    for packing in PACKINGS:
        packed(packing)
    tracemalloc.start(1)
    yield
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST_MEMORY


async def no_sleep(_: float) -> None:
    """Waits take no time."""


def connection(url: str, provider: Provider = Provider.OPENAI, **other: Any) -> ModelConnection:
    return replace(ModelConnection(ConnectionId("c"), "c", f"{url}/v1", "m", provider, seconds=20), **other)


async def hear(one: ModelConnection, client: httpx2.AsyncClient) -> list[Any]:
    model = open_model(one, "k", client, no_sleep, waits=())
    return [item async for item in model.stream(ASK)]


async def refused(answer: Flood, provider: Provider, bounds: AnswerBounds = SMALL) -> str:
    """What is said of a model whose server answers so; it was not read on and on, and is not quoted."""
    with flooding(answer) as server:
        async with model_client(bounds) as client:
            with pytest.raises(AnswerRefused) as caught:
                await asyncio.wait_for(hear(connection(server.url, provider), client), 20)
    said = str(caught.value)
    assert "the model's server at 127.0.0.1" in said and SECRET.decode() not in said
    return said


@BOTH
@pytest.mark.parametrize("packing", [*PACKINGS, "zstd", "x-unknown"])
@pytest.mark.parametrize(("kind", "status"), [(JSON, 200), (EVENTS, 200), (JSON, 500)])
async def test_what_is_packed_was_not_asked_for(provider: Provider, packing: str, kind: Any, status: int) -> None:
    answer = bomb(packing, kind, status) if packing in PACKINGS else text("?", {**kind, "Content-Encoding": packing})
    assert "answers packed" in await refused(answer, provider, AnswerBounds())


@BOTH
@pytest.mark.parametrize("status", [200, 400, 503])
async def test_a_whole_answer_ends_at_its_bound(provider: Provider, status: int) -> None:
    said = await refused(endless(SECRET * 1000, status=status, first=b'{"a": "'), provider)
    assert "answers with more than 262,144 bytes" in said
    if status != 200:  # a failure is read whole, whatever type it has
        assert "262,144" in await refused(endless(SECRET * 1000, EVENTS, status), provider)


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        endless(SECRET * 100, EVENTS, first=b"data: "),  # a line
        endless(SECRET * 100, {}, first=b"data: "),  # of an answer that has no type at all
        endless(SECRET * 100, {"Content-Type": "text/plain"}),
        endless(b"data: x\n" * 100, EVENTS),  # an event of ever more lines
        endless(b"data: x\r" * 100, EVENTS),
        endless(b": x\r\r\n" * 100, EVENTS),  # for one library of two no end of an event
        endless(b"x" * 9, EVENTS),  # some bytes at a time
    ],
)
async def test_an_event_ends_at_its_bound(provider: Provider, answer: Flood) -> None:
    assert "sends an event of more than 65,536 bytes" in await refused(answer, provider)


@BOTH
async def test_a_length_that_lies_is_not_believed(provider: Provider) -> None:
    huge = endless(SECRET * 1000, {**JSON, "Content-Length": str(1 << 40)})
    assert "more than 262,144 bytes" in await refused(huge, provider)
    for length in ("5", "5000"):  # too few bytes are read, or the connection ends before it
        answer = text('{"choices": [{"message": {}}]}', {**JSON, "Content-Length": length, "Connection": "close"})
        with flooding(answer) as server:
            async with model_client(SMALL) as client:
                with pytest.raises(Unavailable):
                    await hear(connection(server.url, provider), client)


@BOTH
async def test_a_long_stream_is_longer_than_any_bound_and_comes_token_by_token(provider: Provider) -> None:
    """Each word is sent only once the one before it was heard."""
    heard = threading.Semaphore(1)
    word = "w" * 8000
    frames = stream_frames(provider, Say(word * 80, size=len(word)))
    assert sum(word.encode() in frame for frame in frames) == 80

    def blocks() -> Iterator[bytes]:
        for frame in frames:
            assert word.encode() not in frame or heard.acquire(timeout=10), "what was sent is held back"
            yield frame

    with flooding(Flood(blocks, EVENTS)) as server:
        async with model_client(SMALL) as client:
            model, said = open_model(connection(server.url, provider), "k", client, no_sleep, waits=()), ""
            async for item in model.stream(ASK):
                if isinstance(item, ReplyDelta):
                    said += item.text
                heard.release()
    assert len(said) > 2 * SMALL.answer


def stream_frames(provider: Provider, say: Say) -> list[bytes]:
    if provider is Provider.ANTHROPIC:
        return [b": begins\n\n", *anthropic_frames(say, {}), b"".join(anthropic_end(say, {}))]
    return [b": begins\n\n", *openai_frames(say, {}), b"".join(openai_end(say, {}))]


async def test_a_stream_of_nothing_is_silence() -> None:
    with flooding(trickle(b": ping\n\n", 0.02, EVENTS)) as server:
        async with model_client(SMALL) as client:
            with pytest.raises(Unavailable, match=r"did not answer within 0\.5 s"):
                await hear(connection(server.url, seconds=0.5), client)


@BOTH
@pytest.mark.parametrize("streams", [True, False])
async def test_one_connection_serves_twenty_calls(provider: Provider, streams: bool) -> None:
    say = Say("Hello there")
    body = anthropic_body if provider is Provider.ANTHROPIC else openai_body
    answer = Flood(lambda: iter(stream_frames(provider, say)), EVENTS) if streams else text(json.dumps(body(say, {})))
    with flooding(answer) as server:
        async with model_client() as client:
            for _ in range(20):
                reply = (await hear(connection(server.url, provider), client))[-1]
                assert isinstance(reply, ModelReply) and reply.content == "Hello there"
    assert (len(server.asked), server.connections) == (20, 1)
    assert {headers["accept-encoding"] for _, headers in server.asked} == {"identity"}


@BOTH
async def test_a_stream_that_proxies_are_told_not_to_pack_is_read(provider: Provider) -> None:
    frames, headers = stream_frames(provider, Say("Hello there")), {**EVENTS, "Content-Encoding": "none"}
    with flooding(Flood(lambda: iter(frames), headers)) as server:
        async with model_client() as client:
            reply = (await hear(connection(server.url, provider), client))[-1]
            assert isinstance(reply, ModelReply) and reply.content == "Hello there"


async def test_connections_that_are_stored_are_bounded_and_used_again_too() -> None:
    say = Say("Hello there")
    with flooding({"/v1/chat/completions": text(json.dumps(openai_body(say, {}))), "*": bomb("gzip")}) as server:
        clients = model_clients(EgressPolicy(loopback=True), SMALL)
        one = connection(server.url, first_tenant=True)
        for _ in range(20):
            await hear(one, clients.of(one))
        assert (len(server.asked), server.connections) == (20, 1)
        with pytest.raises(AnswerRefused, match="packed"):
            await hear(replace(one, base_url=f"{server.url}/v2"), clients.of(one))
        assert (await hear(one, clients.of(one)))[-1].content == "Hello there"
        await clients.aclose()


class Bombs(Shelf):
    """Connections to servers, opened by the real clients."""

    client: Any = None

    async def open(self, scope: Any, connection: ModelConnection) -> Any:
        return open_model(connection, None, self.client, no_sleep, waits=())


@BOTH
async def test_another_model_is_asked_instead(provider: Provider) -> None:
    with flooding(bomb("gzip")) as packed, flooding(text(json.dumps(openai_body(Say("Here."), {})))) as good:
        a = connection(packed.url, provider, id=ConnectionId("a"), name="a")
        b = connection(good.url, id=ConnectionId("b"), name="b")
        shelf = Bombs({a: ScriptedModel(), b: ScriptedModel()})
        routing = {"llm_routing": {"primary_connection_id": "a", "fallback_chain": ["b"]}}
        async with model_client() as shelf.client:
            router = ModelRouter(shelf, MemoryPurse())
            said = [item async for item in router.stream(SCOPE, SCOPE.tenant, routing, "chat", ASK)]
    reply = said[-1]
    assert isinstance(reply, ModelReply) and reply.content == "Here."
    assert [one.why.partition(":")[0] for one in reply.fallbacks] == ["unavailable"]


def embedding(url: str) -> EmbeddingSettings:
    return EmbeddingSettings(base_url=f"{url}/v1", model="m", attempts=1)


@pytest.mark.parametrize(
    "answer", [*map(bomb, PACKINGS), endless(SECRET * 1000), endless(SECRET * 1000, {"Content-Length": "900000000000"})]
)
async def test_an_embedder_and_a_reranker_end_at_their_bounds(answer: Flood) -> None:
    with flooding(answer) as server:
        async with httpx2.AsyncClient() as client:
            embedder = ApiEmbedder(embedding(server.url), client, no_sleep, lambda: 0.5)
            reranker = RemoteReranker(RerankSettings(remote_url=server.url), client, no_sleep)
            for ask, who, most in (
                (embedder.facts, "the embedding server", f"{ANSWER_BYTES:,}"),
                (lambda: reranker.score("q", ["a"]), "the reranking service", "1,048,576"),
            ):
                with pytest.raises(AnswerRefused, match=f"{who} answers with more than {most} bytes") as caught:
                    await ask()
                assert SECRET.decode() not in str(caught.value)


async def test_a_packed_list_of_vectors_in_good_faith_is_read_and_its_connection_used_again() -> None:
    body = gzip.compress(b'{"data": [{"index": 0, "embedding": [1, 2]}]}')
    with flooding(text(body, {**JSON, "Content-Encoding": "gzip"})) as server:
        embedder = open_embedder(embedding(server.url))
        for _ in range(20):
            assert (await embedder.embed(["a"])).shape == (1, 2)
    assert (len(server.asked), server.connections) == (21, 1), "the first asks for the dimension"


@pytest.mark.parametrize("answer", [bomb("gzip"), bomb("br"), endless(SECRET * 1000)])
async def test_a_probe_and_the_choice_of_an_embedder_read_no_flood(answer: Flood) -> None:
    with flooding(answer) as server:
        for made in (model_client, httpx2.AsyncClient):
            async with made() as client:
                found = await probe_connection(connection(server.url), None, client, 20, lambda: 0.0)
                assert (found.ok, found.reason) == (False, ProbeFailure.NO_API)
                unset = EmbeddingSettings()
                chosen = await choose_provider(unset, LlmSettings(), client, indexed=False, ollama=server.url)
                assert chosen.source == "local"


def test_a_refused_answer_is_an_upstream_that_is_away() -> None:
    error: AosError = AnswerRefused("the model's server answers without end")
    assert isinstance(error, Unavailable) and error.code == Unavailable.code
