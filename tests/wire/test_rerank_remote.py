"""A reranking service over real HTTP: what it is asked, what it may answer, and what is tried again."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import numpy as np
import pytest

from cluster.basics.errors import AosError, Invalid, Overloaded, Unavailable
from cluster.models.reranking.remote import RemoteReranker
from configs.sections_retrieval import RerankSettings

Answer = tuple[int, Any]


@dataclass
class Service:
    """Answers in turn; the last answer stays. `asked` has (path, headers, body) of each request."""

    answers: list[Answer | Callable[[Any], Answer]]
    url: str = ""
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)


@contextmanager
def service(*answers: Answer | Callable[[Any], Answer]) -> Iterator[Service]:
    made = Service(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            made.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            status, said = answer(body) if callable(answer) else answer
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.send_header("location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/v2"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def score(url: str, count: int, key: str | None = None, seconds: float = 2, **more: Any) -> Any:
    settings = RerankSettings(remote_url=url, remote_key=key, remote_seconds=seconds, **more)

    async def soon(_: float) -> None:
        await asyncio.sleep(0)

    async with httpx2.AsyncClient(verify=False) as client:
        return await RemoteReranker(settings, client, soon).score("which pump", [f"{n} " * 4_000 for n in range(count)])


def best(*pairs: tuple[int, float]) -> Answer:
    return 200, {"results": [{"index": at, "relevance_score": score} for at, score in pairs]}


async def test_it_is_asked_as_cohere_is() -> None:
    """RE-13: POST {url}/rerank with model, query, documents of 4,096 characters, top_n 10; NaN for the rest."""
    with service(best((3, 0.9), (0, 0.2))) as made:
        scores = await score(made.url, 20, "k-1", remote_model="rerank-1")
        path, headers, body = made.asked[0]
    assert scores.shape == (20,) and scores[3] == np.float32(0.9) and scores[0] == np.float32(0.2)
    assert np.isnan(scores).sum() == 18
    assert path == "/v2/rerank" and headers["authorization"] == "Bearer k-1"
    assert (body["model"], body["query"], body["top_n"]) == ("rerank-1", "which pump", 10)
    assert len(body["documents"]) == 20 and {len(text) for text in body["documents"]} == {4_096}
    assert (await score("http://127.0.0.1:9", 0)).shape == (0,)


@pytest.mark.parametrize("first", [(500, {}), (429, {}), (200, b"no json"), (200, {"results": []})])
async def test_what_may_pass_is_tried_once_more(first: Answer) -> None:
    """RE-13: a judgement that is none is not a judgement; a second try may be."""
    with service(first, best((0, 0.5))) as made:
        scores = await score(made.url, 2)
        assert scores[0] == np.float32(0.5) and len(made.asked) == 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((503, {}), Unavailable),
        ((429, {}), Overloaded),
        ((401, {}), Invalid),
        ((302, {}), Invalid),
        ((200, b"x" * (2**20 + 1)), Unavailable),
        ((200, b"[" * 100_000), Unavailable),
        ((200, []), Unavailable),
        (best((0, 0.1), (0, 0.2)), Unavailable),
        (best((2, 0.1)), Unavailable),
        (best((-1, 0.1)), Unavailable),
        ((200, {"results": [{"index": 0, "relevance_score": "1"}]}), Unavailable),
        ((200, {"results": [{"index": True, "relevance_score": 1}]}), Unavailable),
        ((200, b'{"results": [{"index": 0, "relevance_score": NaN}]}'), Unavailable),
        ((200, {"results": [7]}), Unavailable),
    ],
)
async def test_garbage_and_refusals_are_errors_by_name(answer: Answer, error: type[AosError]) -> None:
    """RE-13: no score is made up, and no redirect is followed."""
    with service(answer) as made, pytest.raises(error):
        await score(made.url, 2)


async def test_nobody_there_and_too_slow() -> None:
    """RE-13: both are Unavailable, so that the next judge is asked."""
    with pytest.raises(Unavailable, match="cannot be reached"):
        await score("http://127.0.0.1:9", 2)
    waits = threading.Event()

    def slow(_: Any) -> Answer:
        waits.wait(5)
        return best((0, 1.0))

    with service(slow) as made:
        with pytest.raises(Unavailable, match="did not answer within"):
            await score(made.url, 2, seconds=0.1)
        waits.set()
