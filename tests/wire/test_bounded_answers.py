"""Servers that pack gigabytes into a few hundred bytes: whoever asked is told of no answer, and takes no memory."""

import gzip
import threading
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import brotli
import httpx
import httpx2
import pytest

from cluster.basics.bounded_answers import bounded_hooks, fetch_bounded
from cluster.basics.errors import Unavailable
from cluster.dashboard import RayDashboard
from cluster.doctor import run_probe
from cluster.models.chat.factory import open_model
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection, Provider
from cluster.models.messages import ChatRequest, ModelMessage
from cluster.watch.asking import LivenessState, ask_http
from configs.sections import Settings
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient, ProviderMetadata
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable

HUGE = 1 << 29
PACKINGS = ["br", "gzip", "gzip, gzip", "gzip,br"]


@cache
def bomb(packing: str) -> bytes:
    """HUGE zeros, in as few bytes as each way of packing needs."""
    block = bytes(1 << 20)
    if packing == "br":
        packer = brotli.Compressor(quality=1, lgwin=24)
        body = b"".join([*(packer.process(block) for _ in range(HUGE >> 20)), packer.finish()])
    else:
        zipper = zlib.compressobj(1, wbits=31)
        body = b"".join([*(zipper.compress(block) for _ in range(HUGE >> 20)), zipper.flush()])
    for outer in packing.split(",")[1:]:
        body = gzip.compress(body) if outer.strip() == "gzip" else brotli.compress(body)
    return body


@contextmanager
def served(packing: str, status: int = 200, kind: str = "application/json") -> Iterator[str]:
    """A server that answers everything with the bomb."""
    body = bomb(packing)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Encoding", packing)):
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the client has had enough
                self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(autouse=True)
async def memory() -> AsyncIterator[None]:
    for packing in PACKINGS:
        bomb(packing)
    tracemalloc.start()
    yield
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 256 << 20


@pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC])
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize(("status", "kind"), [(200, "application/json"), (200, "text/event-stream"), (500, "text/x")])
async def test_a_model_that_answers_with_a_bomb_is_away(
    packing: str, provider: Provider, status: int, kind: str
) -> None:
    async def sleep(seconds: float) -> None:
        raise AssertionError("it is asked once here")

    with served(packing, status, kind) as url:
        one = ModelConnection(ConnectionId("c"), "c", f"{url}/v1", "m", provider, seconds=30)
        async with model_client() as client:
            model = open_model(one, "k", client, sleep, chance=lambda: 0.5, waits=())
            with pytest.raises(Unavailable):
                _ = [item async for item in model.stream(ChatRequest((ModelMessage("user", "hi"),)))]


@pytest.mark.parametrize("packing", PACKINGS)
async def test_a_provider_of_sign_in_that_answers_with_a_bomb_is_unavailable(packing: str) -> None:
    with served(packing) as url:
        provider = OidcProvider(name="p", issuer=url, client_id="c", client_secret="s")
        client = OidcProviderClient(provider, lambda: 0.0)
        with pytest.raises(ProviderUnavailable):
            await client.metadata()
        known = ProviderMetadata(f"{url}/a", f"{url}/t", f"{url}/k", "", False, "client_secret_basic")
        client._metadata = type("Known", (), {"value": known, "at": 0.0})()  # type: ignore[assignment]
        with pytest.raises(ProviderUnavailable):
            await client.claims_of("code", "https://x/cb", "nonce", "v" * 50, 0.0)
        with pytest.raises(ProviderUnavailable):
            await client.logout_of("a.b.c", 0.0)


@pytest.mark.parametrize("packing", PACKINGS)
def test_probes_want_the_status_and_read_no_bomb(packing: str) -> None:
    with served(packing) as url:
        settings = Settings(llm={"base_url": f"{url}/v1"})
        (found,) = run_probe("llm", settings)
        assert found.detail.endswith("answers 200")
        port = int(url.rsplit(":", 1)[1])
        assert ask_http("127.0.0.1", port, "/", 5).reply is LivenessState.ANSWERED
        with pytest.raises(Unavailable, match="packed"):
            RayDashboard(url, {}).get("/x", lambda body: body)


@pytest.mark.parametrize("packing", ["identity", "gzip", "deflate", "br"])
async def test_what_is_within_bounds_is_unpacked_as_ever(packing: str) -> None:
    text = b"paper " * 1000

    def answer(request: httpx2.Request) -> httpx2.Response:
        ways = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}
        body = ways.get(packing, bytes)(text)
        return httpx2.Response(200, headers={"Content-Encoding": packing}, stream=httpx2.ByteStream(body))

    for most, is_whole in ((len(text), True), (len(text) - 1, False)):
        way = httpx2.MockTransport(answer)
        async with httpx2.AsyncClient(transport=way, event_hooks=bounded_hooks(most)) as client:
            if is_whole:
                assert (await client.get("http://x/")).content == text
            else:
                with pytest.raises(httpx2.DecodingError, match="longer"):
                    await client.get("http://x/")


def test_a_plain_answer_without_end_is_cut_off() -> None:
    with served("identity") as url, pytest.raises(httpx.DecodingError, match="longer"):
        fetch_bounded("GET", url, 1000)
