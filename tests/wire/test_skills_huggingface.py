"""Served models: what text-embeddings-inference, text-generation-inference and HF Inference are asked and answer."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from cluster.basics.errors import AosError
from skills.framework.builtin import build_tool, shipped_skill
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.manifest import BadManifest, CredentialType, manifest_of
from skills.http_client.http_answer import ServiceBusy, ServiceFailed, ServiceGarbled, ServiceRefused, TokenRejected
from tests.fakes.agents import SCOPE
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.web import Asked, Says, as_json, here, web

TEXTS = ["the cat", "a dog", "rain"]
CALLS: dict[str, tuple[dict[str, Any], str, dict[str, Any], Any, dict[str, Any]]] = {
    "hf_embed": (
        {"texts": TEXTS},
        "POST /embed",
        {"inputs": TEXTS, "normalize": True, "truncate": True},
        [[0.1, 0.2], [0.3, 0.4], [1, 0]],
        {"vectors": [[0.1, 0.2], [0.3, 0.4], [1.0, 0.0]], "dimension": 2},
    ),
    "hf_rerank": (
        {"query": "weather", "texts": TEXTS},
        "POST /rerank",
        {"query": "weather", "texts": TEXTS, "truncate": True},
        [{"index": 0, "score": 0.1}, {"index": 2, "score": 0.9}, {"index": 1, "score": 0.2}],
        {
            "ranked": [
                {"index": 2, "score": 0.9, "text": "rain"},
                {"index": 1, "score": 0.2, "text": "a dog"},
                {"index": 0, "score": 0.1, "text": "the cat"},
            ]
        },
    ),
    "hf_classify": (
        {"text": "I am happy"},
        "POST /predict",
        {"inputs": "I am happy"},
        [{"score": 0.1, "label": "sad"}, {"score": 0.9, "label": "joy"}],
        {"labels": [{"label": "joy", "score": 0.9}, {"label": "sad", "score": 0.1}]},
    ),
    "hf_generate": (
        {"prompt": "Once", "temperature": 0.5},
        "POST /generate",
        {"inputs": "Once", "parameters": {"return_full_text": False, "max_new_tokens": 256, "temperature": 0.5}},
        {"generated_text": " upon a time"},
        {"text": " upon a time"},
    ),
}


async def run(name: str, says: Says, sent: list[Asked] | None = None) -> Any:
    def answer(asked: Asked) -> Says:
        if sent is not None:
            sent.append(asked)
        return says

    async with web(answer) as site:
        values = {"base_url": f"http://models.test:{site.port}", "token": "tok-canary-1"}
        secrets = KeptSecrets({CredentialType.CUSTOM: values})
        made = ground(hosts=(f"models.test:{site.port}",), resolve=here, credentials=secrets)
        return await build_tool(shipped_skill(name), made).run(ToolInvocation(SCOPE, None, "k", CALLS[name][0]))


@pytest.mark.parametrize("name", CALLS)
async def test_a_model_is_asked_as_its_server_documents(name: str) -> None:
    """SK-02: path, body, token, and the answer in a form that an agent reads."""
    _, line, body, answer, given = CALLS[name]
    sent: list[Asked] = []
    assert await run(name, as_json(answer), sent) == given
    assert sent[0].line == line and json.loads(sent[0].body) == body
    assert sent[0].headers["authorization"] == "Bearer tok-canary-1"
    assert build_tool(shipped_skill(name), ground()).effect is CallEffect.READ


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("hf_embed", [[0.1, 0.2]]),
        ("hf_embed", [[0.1], [0.1, 0.2], [0.3]]),
        ("hf_embed", [["a"], ["b"], ["c"]]),
        ("hf_embed", {"embeddings": []}),
        ("hf_rerank", [{"index": 0, "score": 1}]),
        ("hf_rerank", [{"index": n, "score": 1} for n in (0, 1, 7)]),
        ("hf_rerank", [{"index": n, "score": 1} for n in (0, 1, 1)]),
        ("hf_classify", [{"label": "a"}]),
        ("hf_classify", "joy"),
        ("hf_generate", []),
        ("hf_generate", {"text": "x"}),
        ("hf_generate", [{"generated_text": "a"}, {"generated_text": "b"}]),
        ("hf_generate", None),
    ],
)
async def test_an_answer_of_another_form_is_not_passed_on(name: str, answer: Any) -> None:
    """SK-02: a vector for another text would be worse than none."""
    with pytest.raises(ServiceGarbled):
        await run(name, as_json(answer))


@pytest.mark.parametrize("text", ["[[NaN, 1], [1, 1], [1, 1]]", "[[Infinity, 1], [1, 1], [1, 1]]", "<html>", "[[1"])
async def test_numbers_are_numbers(text: str) -> None:
    """SK-02: a model that ran over its range gives no vector."""
    with pytest.raises(ServiceGarbled):
        await run("hf_embed", Says(text.encode(), kind="application/json"))


@pytest.mark.parametrize(
    ("name", "answer", "given"),
    [
        ("hf_classify", [[{"label": "a", "score": 0.4}, {"label": "b", "score": 0.6}]], ["b", "a"]),
        ("hf_generate", [{"generated_text": "x"}], "x"),
    ],
)
async def test_pipelines_of_hf_inference_are_read_too(name: str, answer: Any, given: Any) -> None:
    """SK-02: they wrap the same answers into lists."""
    found = await run(name, as_json(answer))
    assert (found.get("text") or [one["label"] for one in found["labels"]]) == given


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, TokenRejected),
        (413, ServiceRefused),
        (422, ServiceRefused),
        (424, ServiceRefused),
        (429, ServiceBusy),
        (500, ServiceFailed),
        (503, ServiceFailed),
    ],
)
async def test_failures_have_names(status: int, error: type[AosError]) -> None:
    """SK-02: a model computes; a failure changed nothing and may be tried again."""
    with pytest.raises(AosError) as raised:
        await run("hf_embed", as_json({"error": "tok-canary-1 is wrong", "error_type": "x"}, status))
    assert type(raised.value) is error and "tok-canary-1" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "words", "front"),
    [
        ({"task": "embed"}, ("text",), {}),
        ({"task": "embed"}, ("texts", "more"), {}),
        ({"task": "dream"}, (), {}),
        ({"task": "rerank"}, ("texts",), {}),
        ({"task": "classify"}, ("text",), {"risk": "write"}),
        ({}, ("text",), {}),
        ({"task": "classify", "url": "https://{text}/"}, ("text",), {}),
    ],
)
def test_a_wrong_manifest_is_refused(
    options: Mapping[str, Any], words: tuple[str, ...], front: Mapping[str, Any]
) -> None:
    """SK-02: each task has its parameters."""
    schema = {"type": "object", "properties": {name: {} for name in words}, "required": list(words)}
    given = {
        "name": "made",
        "description": "Made.",
        "type": "huggingface",
        "parameters": schema,
        "options": {"url": "https://models.test/x", **options},
    }
    with pytest.raises(BadManifest):
        build_tool(manifest_of({**given, **front}), ground())
