"""The conversation of serve_apps/README.md, with the running product and a scripted model, all of it over real HTTP."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.acceptance import conversation
from tests.acceptance.conftest import Product
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use

pytestmark = pytest.mark.acceptance
QUOTE = "Below 49.5 hertz: start the gas generator at Harrow Mill"
RULE = f'Start the gas generator at Harrow Mill. [{{n}}: "{QUOTE}"]'


def number_of(body: Any) -> int:
    """The number under which the passage about the generator was given to the model, the first of those that are."""
    for message in body["messages"]:
        before, found, _ = str(message["content"]).partition(QUOTE)
        if found and message["role"] == "user":
            return int(before.rpartition("<source n=")[2].split(" ", 1)[0])
    raise AssertionError("the model was not given the passage")


def dutiful(body: Any) -> Say:
    """What a good model says: it cites, it promises before it has tools, calls where it has them, and then answers."""
    asked = body["messages"]
    if any(message["role"] == "tool" for message in asked):
        shown = next(str(message["content"]) for message in asked if message["role"] == "tool")
        assert "49.42 hertz" in shown
        return Say(f"It is 49.42 hertz. {RULE.format(n=number_of(body))}")
    address = next((word for word in str(asked[-1]["content"]).split() if word.startswith("http://")), None)
    if address is None:
        return Say(RULE.format(n=number_of(body)))
    if not body.get("tools"):
        return Say("Let me read it.")
    return Say("I read the gauge.", calls=(Use("http_get", {"url": address}),))


@contextmanager
def scripted(http: httpx.Client, says: Callable[[Any], Say]) -> Iterator[ModelServer]:
    """A scripted model that the workspace's agents ask."""
    with serve_model(says) as served:
        wanted = {"name": "scripted", "base_url": served.url, "model": "scripted-1", "supports_tools": True}
        made = http.post("/api/llm-connections", json=wanted | {"default": True})
        assert made.status_code == 201, made.text
        yield served
        http.delete(f"/api/llm-connections/{made.json()['id']}").raise_for_status()


@pytest.fixture
def model(http: httpx.Client) -> Iterator[ModelServer]:
    with scripted(http, dutiful) as served:
        yield served


def test_the_conversation_of_readme(
    product: Product, http: httpx.Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents with citations, a tool, an approval, the resumed run, the end."""
    (page,) = product.settings.agents.http_allow
    token = http.headers["Authorization"].removeprefix("Bearer ")
    words = ["--url", str(http.base_url), "--token", token, "--port", page.rpartition(":")[2], "--yes"]
    code = conversation.main(words)
    told = capsys.readouterr().out
    assert code == 0, told
    assert f'[1] control-room.md, page 1: "{QUOTE}' in told, told
    assert json.dumps({"url": f"http://{page}/gauge"}) in told, "the person is shown what is asked for"
    before, _, after = told.partition("approve")
    assert "49.42" not in before and "It is 49.42 hertz. Start the gas generator at Harrow Mill. [1]" in after, told
    (approval, *_) = http.get("/api/approvals", params={"state": "approved"}).json()["items"]
    run = http.get(f"/api/runs/{approval['run_id']}").json()
    assert (approval["execution"], run["state"]) == ("done", "completed"), (approval, run)
    assert len(model.chats) <= 5
