"""Answers by a connected model: how soon its words arrive, and what becomes of an answer whose model is killed."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx

from tests.evals.documents_shelf import DOCUMENTS, PHRASINGS
from tests.evals.qa_shelf import Shelf, post
from tests.evals.report import Report
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.instance import Instance

CONNECTED = (
    "A connection added while running answers the next question; killed in the middle of an answer, the answer says so "
    "within 5 s and falls back; first token of a scripted model reaches the client ≤ 150 ms after it was sent."
)
FIRST_TOKEN_MS, KILLED_SECONDS = 150, 5
ASKED = 30  # answers on each route
QUESTION = "How much does the Corvane P7 pump weigh?"
REPLY = 'The pump weighs 62 kilograms. [1: "The pump weighs 62 kilograms"]'
# A model in a process of its own: it writes a word every fifth of a second, for a minute.
_SLOW = """
import sys, threading
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say
with serve_model(Say("word " * 300, size=5, between=0.2)) as model:
    print(model.url, flush=True)
    threading.Event().wait()
"""


def measure(report: Report, made: Instance) -> None:
    """A small workspace, to which models are connected while it runs."""
    with tempfile.TemporaryDirectory(prefix="aos-models-") as place:
        for name, text in DOCUMENTS.items():
            (Path(place) / name).write_text(text, encoding="utf-8")
        shelf = Shelf.open(made, "models", [Path(place)])
    headers = {"Authorization": made.http.headers["Authorization"], "X-Workspace": shelf.workspace}
    with httpx.Client(base_url=made.http.base_url, headers=headers, timeout=60) as client:
        _measure_connected(report, client)
        _measure_first_token(report, client)
        _measure_killed(report, client)


def _measure_connected(report: Report, client: httpx.Client) -> None:
    before = post(client, "/api/ask", {"question": QUESTION})["mode"]
    with serve_model(Say(REPLY)) as model, _connected(client, model.url):
        after = post(client, "/api/ask", {"question": QUESTION})["mode"]
    again = post(client, "/api/ask", {"question": QUESTION})["mode"]
    told = f"{before}, connected: {after}, removed: {again}"
    report.figure("models: the next question", told, goal=CONNECTED, holds=(after, again) == ("generated", before))


def _measure_first_token(report: Report, client: httpx.Client) -> None:
    """Questions of their own on each route, so that none is remembered."""
    asked = [one.message for one in PHRASINGS if one.value and not one.before]
    routes = {
        "POST /api/ask": lambda text: ("/api/ask", {"question": text}),
        "POST /api/chat, DOCUMENTS": lambda text: ("/api/chat/assistant", {"message": f"/docs {text} now"}),
    }
    with serve_model(Say(REPLY, size=6, between=0.03)) as model, _connected(client, model.url):
        for name, call in routes.items():
            tried = (_first_token_ms(client, model, *call(text)) for text in asked)
            took = list(islice((one for one in tried if one is not None), ASKED))
            if len(took) < ASKED // 2:
                raise RuntimeError(f"{name} asked the model only {len(took)} times")
            late = quantiles(took, n=20)[-1]
            report.figure(
                f"models: first token at the client, {name}, 95 % within",
                round(late, 1),
                unit="ms",
                reference=FIRST_TOKEN_MS,
                goal=CONNECTED,
                holds=late <= FIRST_TOKEN_MS,
            )
            report.figure(f"models: first token at the client, {name}, median", round(median(took), 1), unit="ms")


def _first_token_ms(client: httpx.Client, model: ModelServer, path: str, body: dict[str, Any]) -> float | None:
    """From the moment at which the model's server had sent its first words to that at which the client had them.

    None where no model was to write the answer: lists of documents are made without one.
    """
    sent, at, generated = len(model.first_sent), None, False
    with client.stream("POST", path, json=body | {"stream": True}) as answer:
        for name, data in _events(answer):
            if at is None and _is_draft(name, data):
                at = time.monotonic()
            generated |= '"generated"' in json.dumps(data)
    if at is None and not generated:
        return None
    if at is None or len(model.first_sent) <= sent:
        raise RuntimeError(f"{path} showed no word of the model")
    # A question that is vague is written anew by the model first: the answer is the last of its replies.
    return (at - model.first_sent[-1]) * 1000


def _measure_killed(report: Report, client: httpx.Client) -> None:
    """The model's process is killed, with SIGKILL, as soon as its first words have arrived."""
    server = subprocess.Popen([sys.executable, "-c", _SLOW], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        with _connected(client, server.stdout.readline().strip()):
            question = {"question": f"{QUESTION} Please.", "stream": True}
            with client.stream("POST", "/api/ask", json=question) as answer:
                killed_at, last = None, ("", {})
                for event in _events(answer):
                    if killed_at is None:
                        server.kill()
                        killed_at = time.monotonic()
                    last = event
        if killed_at is None or last[0] != "answer":
            raise RuntimeError(f"the answer of a killed model ended as {last}")
        seconds, fallback = time.monotonic() - killed_at, str(last[1]["fallback"])
    finally:
        server.kill()
        server.wait()
    report.figure(
        "models: killed in the middle of an answer, the documents' own answer after",
        round(seconds, 2),
        unit="s",
        reference=KILLED_SECONDS,
        goal=CONNECTED,
        holds=seconds <= KILLED_SECONDS and last[1]["mode"] == "extractive" and fallback.startswith("extractive, "),
    )
    report.figure("models: killed in the middle of an answer, what is said", fallback)


@contextmanager
def _connected(client: httpx.Client, url: str) -> Iterator[None]:
    """The workspace's default connection for as long as the block runs."""
    wanted = {"name": "scripted", "base_url": url, "model": "scripted-1", "default": True}
    made = post(client, "/api/llm-connections", wanted)
    try:
        yield
    finally:
        client.delete(f"/api/llm-connections/{made['id']}").raise_for_status()


def _events(answer: httpx.Response) -> Iterator[tuple[str, Any]]:
    answer.raise_for_status()
    name = ""
    for line in answer.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def _is_draft(name: str, data: Any) -> bool:
    return name == "draft" or (name == "thinking" and data["data"]["kind"] == "draft")
