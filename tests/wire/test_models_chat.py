"""Chat clients over real HTTP: what is said, what breaks, what is tried again, and what happens to the connection."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module

import httpx2
import pytest

from cluster.basics.errors import Invalid, Unavailable
from cluster.models.chat.factory import open_model
from cluster.models.chat.response_format import ResponseForm
from cluster.models.chat.vendor_sdk import ChatTimeouts, EndpointQuirks
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import AuthMode, ConnectionId, ModelConnection, Provider
from cluster.models.messages import (
    ChatRequest,
    ModelMessage,
    ModelReply,
    ReplyDelta,
    SamplingParameters,
    ToolCall,
    ToolSpec,
)
from cluster.models.model_errors import Busy, Unusable
from cluster.models.ports import ChatModel
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use, busy, failing

ASK = ChatRequest(
    (ModelMessage("system", "Be brief."), ModelMessage("user", "hello there")), temperature=0.2, max_tokens=50
)
SUM = ToolSpec("sum", "adds", {"type": "object", "properties": {"a": {"type": "number"}}})
BOTH = pytest.mark.parametrize("provider", [Provider.OPENAI, Provider.ANTHROPIC])


@dataclass
class Naps:
    """Sleeps that take no time."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def connection(model: ModelServer, provider: Provider = Provider.OPENAI, **other: object) -> ModelConnection:
    mode = AuthMode.API_KEY if provider in (Provider.ANTHROPIC, Provider.AZURE) else AuthMode.BEARER
    url = model.root if provider is Provider.AZURE else model.url
    made = ModelConnection(ConnectionId("c"), "c", url, "scripted-1", provider, mode, seconds=5)
    return replace(made, **other)  # type: ignore[arg-type]


@asynccontextmanager
async def opened(
    conn: ModelConnection, key: str | None = "sk-1234", naps: Naps | None = None, **options: object
) -> AsyncIterator[ChatModel]:
    # No TLS here, and the context for it takes longer to make than all the rest.
    async with httpx2.AsyncClient(verify=False) as client:
        yield open_model(conn, key, client, naps or Naps(), chance=lambda: 0.5, **options)  # type: ignore[arg-type]


async def said(model: ChatModel, request: ChatRequest = ASK) -> tuple[list[ReplyDelta], ModelReply]:
    items = [item async for item in model.stream(request)]
    assert isinstance(items[-1], ModelReply) and all(isinstance(item, ReplyDelta) for item in items[:-1])
    return [item for item in items[:-1] if isinstance(item, ReplyDelta)], items[-1]


async def ask(
    server: ModelServer, provider: Provider = Provider.OPENAI, request: ChatRequest = ASK, **options: object
) -> ModelReply:
    async with opened(connection(server, provider), **options) as model:  # type: ignore[arg-type]
        return (await said(model, request))[1]


@pytest.mark.parametrize(
    ("provider", "shaped"),
    [
        (Provider.OPENAI, {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}),
        (
            Provider.ANTHROPIC,
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        ),
    ],
)
async def test_a_picture_travels_beside_the_words_as_its_provider_takes_it(
    provider: Provider, shaped: dict[str, object]
) -> None:
    asked = ModelMessage("user", "What is this?", images=("data:image/jpeg;base64,AAAA",))
    with serve_model(Say("A crane.")) as server:
        await ask(server, provider, ChatRequest((asked,)))
        (sent,) = server.chats
    assert sent.body["messages"][-1]["content"] == [{"type": "text", "text": "What is this?"}, shaped]


@BOTH
async def test_a_reply_is_streamed(provider: Provider) -> None:
    """MR-11: pieces as they come, then the whole with usage, finish reason and model."""
    with serve_model(
        Say("Hello there, world. Ünïcödé \u2028 line.", reasoning="Let me think."), key="sk-1234"
    ) as server:
        async with opened(connection(server, provider)) as model:
            pieces, reply = await said(model)
    assert "".join(piece.text for piece in pieces) == reply.content == "Hello there, world. Ünïcödé \u2028 line."
    assert len([piece for piece in pieces if piece.text]) == 5
    assert reply.reasoning == "Let me think." and pieces[0].reasoning == "Let me t"
    assert (reply.finish_reason, reply.model, reply.usage.estimated) == ("stop", "scripted-1", False)
    assert reply.usage.completion_tokens == 12 and reply.usage.prompt_tokens > 0
    body = server.chats[0].body
    assert body["temperature"] == 0.2 and body["max_tokens"] == 50 and body["stream"] is True


@BOTH
async def test_native_calls_and_their_results_travel(provider: Provider) -> None:
    """MR-08, MR-11: calls from fragments with the provider's ids; earlier calls and results in the provider's shape."""
    history = (
        ModelMessage("user", "add"),
        ModelMessage(
            "assistant", "Adding.", (ToolCall("call:1", "sum", '{"a": 1}'), ToolCall("call:2", "sum", "not json"))
        ),
        ModelMessage("tool", "1", tool_call_id="call:1"),
        ModelMessage("tool", "error", tool_call_id="call:2"),
    )
    say = Say("I add.", calls=(Use("sum", {"a": 12345678}), Use("sum", {"a": 2})), size=5)
    with serve_model(say) as server:
        reply = await ask(server, provider, ChatRequest(history, tools=(SUM,), stop=("\nOBSERVATION",)))
    assert [(call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("sum", {"a": 12345678}),
        ("sum", {"a": 2}),
    ]
    assert len({call.id for call in reply.tool_calls}) == 2 and reply.finish_reason == "tool_calls"
    body = server.chats[0].body
    if provider is Provider.ANTHROPIC:
        assert body["tools"][0]["input_schema"]["properties"] == {"a": {"type": "number"}}
        assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
        uses, results = body["messages"][1]["content"][1:], body["messages"][2]["content"]
        assert [use["input"] for use in uses] == [{"a": 1}, {"unparsed": "not json"}]
        assert [use["id"] for use in uses] == [result["tool_use_id"] for result in results] == ["call_1", "call_2"]
        assert body["stop_sequences"] == ["\nOBSERVATION"]
    else:
        assert body["tools"][0]["function"]["name"] == "sum"
        assert [m["role"] for m in body["messages"]] == ["user", "assistant", "tool", "tool"]
        assert json.loads(body["messages"][1]["tool_calls"][1]["function"]["arguments"]) == {"unparsed": "not json"}
        assert body["messages"][2]["tool_call_id"] == "call:1" and body["stop"] == ["\nOBSERVATION"]


async def test_calls_without_ids_and_indices_get_the_same_ids_each_time() -> None:
    say = Say(calls=(Use("sum", {"a": 1}), Use("sum", {"a": 2})), numbered=False, size=3)
    earlier = ModelMessage("assistant", "", (ToolCall("x", "sum", "{}"),))
    request = ChatRequest((*ASK.messages, earlier, ModelMessage("tool", "0", tool_call_id="x")), tools=(SUM,))
    with serve_model(say) as server:
        replies = [await ask(server, request=request) for _ in range(2)]
    assert [call.arguments for call in replies[0].tool_calls] == ['{"a": 1}', '{"a": 2}']
    assert [call.id for call in replies[0].tool_calls] == ["call_1", "call_2"]
    assert replies[0].tool_calls == replies[1].tool_calls


async def test_a_model_that_takes_no_tools_is_not_sent_any() -> None:
    """MR-08, X-06: the payload is skipped for vLLM and the like, unless the connection says otherwise."""
    history = (
        *ASK.messages,
        ModelMessage("assistant", "", (ToolCall("1", "sum", '{"a": 1}'),)),
        ModelMessage("tool", "1", (), "1"),
    )
    request = ChatRequest(history, tools=(SUM,))
    with serve_model() as server:
        for override in (None, True):
            async with opened(connection(server, Provider.VLLM, tools=override)) as model:
                await said(model, request)
    plain, native = (asked.body for asked in server.chats)
    assert "tools" not in plain and [m["role"] for m in plain["messages"]] == ["system", "user", "assistant", "user"]
    assert plain["messages"][2]["content"] == 'ACTION: sum\nACTION_INPUT: {"a": 1}'
    assert plain["messages"][3]["content"] == "OBSERVATION: 1"
    assert native["tools"] and native["messages"][3]["role"] == "tool"


@pytest.mark.parametrize(
    ("mode", "header", "key", "sent"),
    [
        (AuthMode.BEARER, None, "sk-1", ("authorization", "Bearer sk-1")),
        (AuthMode.API_KEY, None, "sk-1", ("x-api-key", "sk-1")),
        (AuthMode.BASIC, None, "me:pass", ("authorization", "Basic bWU6cGFzcw==")),
        (AuthMode.CUSTOM, "X-Gate", "sk-1", ("x-gate", "sk-1")),
        (AuthMode.NONE, None, "sk-1", ("authorization", None)),
        (AuthMode.BEARER, None, None, ("authorization", None)),
    ],
)
@BOTH
async def test_auth_modes(
    provider: Provider,
    mode: AuthMode,
    header: str | None,
    key: str | None,
    sent: tuple[str, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MR-09: five modes; what the libraries find in the environment goes nowhere."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Extra: from-the-environment")
    with serve_model() as server:
        async with opened(connection(server, provider, auth_mode=mode, auth_header=header), key) as model:
            await said(model)
    headers = server.chats[0].headers
    assert headers.get(sent[0]) == sent[1]
    assert "from-the-environment" not in str(headers)
    signing = [name for name in headers if name in ("authorization", "x-api-key", "x-gate")]
    assert signing == ([sent[0]] if sent[1] else [])
    assert ("anthropic-version" in headers) is (provider is Provider.ANTHROPIC)


async def test_azure_names_the_deployment_in_the_path_and_cohere_has_a_path_of_its_own() -> None:
    """MR-07: the two whose addresses differ."""
    with serve_model(key="sk-1234") as server:
        await ask(server, Provider.AZURE)
        async with opened(connection(server, Provider.COHERE, base_url=server.root)) as model:
            await said(model)
    azure, cohere = server.chats
    assert azure.path == "/openai/deployments/scripted-1/chat/completions?api-version=2024-10-21"
    assert azure.headers["api-key"] == "sk-1234"
    assert cohere.path == "/compatibility/v1/chat/completions" and "stream_options" not in cohere.body


@BOTH
async def test_four_attempts_with_growing_waits(provider: Provider) -> None:
    """MR-10, X-07: 2, 4, 8 s with jitter; 429 is tried again and its Retry-After honoured, other 4xx are not."""
    naps = Naps()
    with serve_model(failing(500), busy("7"), Say(after="cut", upto=0), Say("fine")) as server:
        assert (await ask(server, provider, naps=naps)).content == "fine"
    assert naps.taken == [2.0, 7.0, 8.0] and len(server.chats) == 4
    with serve_model(failing(503)) as server:
        with pytest.raises(Unavailable):
            await ask(server, provider)
        assert len(server.chats) == 4
    with serve_model(failing(400, "too long")) as server:
        with pytest.raises(Invalid, match="too long"):
            await ask(server, provider)
        assert len(server.chats) == 1
    with serve_model(busy("3600")) as server:
        with pytest.raises(Busy) as caught:
            await ask(server, provider)
        assert caught.value.retry_after == 3600 and len(server.chats) == 1


@BOTH
async def test_nothing_is_asked_again_once_a_piece_was_shown(provider: Provider) -> None:
    for after in ("cut", "stop", "garbage"):
        with serve_model(Say("Some text that breaks off", upto=4, after=after)) as server:  # type: ignore[arg-type]
            pieces: list[object] = []
            with pytest.raises(Unavailable):
                async with opened(connection(server, provider)) as model:
                    async for item in model.stream(ASK):
                        pieces.append(item)
            assert pieces and not any(isinstance(piece, ModelReply) for piece in pieces), after
            assert len(server.chats) == 1, after


@BOTH
@pytest.mark.parametrize(("status", "kind"), [(401, Unusable), (403, Unusable), (404, Unusable), (302, Unusable)])
async def test_a_connection_that_cannot_be_used_says_so_without_its_key(
    provider: Provider, status: int, kind: type[Exception]
) -> None:
    """MR-09: the key is masked where the server repeats it; redirects are not followed."""
    say = failing(status, "Incorrect API key provided: sk-1234-secret", {"Location": "http://127.0.0.1:9/"})
    with serve_model(say) as server:
        with pytest.raises(kind) as caught:
            await ask(server, provider, key="sk-1234-secret")
        assert len(server.chats) == 1
    assert "secret" not in str(caught.value)


@BOTH
async def test_silence_ends_a_call(provider: Provider) -> None:
    async def left(say: Say) -> None:
        with serve_model(say) as server:
            started = time.monotonic()
            with pytest.raises(Unavailable, match=r"0\.1 s"):
                async with opened(connection(server, provider, seconds=0.1), waits=()) as model:
                    await said(model)
            assert time.monotonic() - started < 5  # of the 30 that it would be silent
            assert await asyncio.to_thread(server.chats[0].closed.wait, 2)

    for dialect in ("client", "anthropic_chat"):  # here, as it would hold up the clocks of all four
        import_module(f"cluster.models.chat.{dialect}")
    await asyncio.gather(
        left(Say(after="hang", upto=0)),
        left(Say(wait=30)),
        left(Say("Some text", upto=3, after="hang")),
        left(Say("Text", after="ping")),
    )


async def test_a_reply_without_end_is_ended() -> None:
    with serve_model(Say(after="forever")) as server:
        with pytest.raises(Unavailable, match="longer than"):
            async with opened(connection(server), limits=ChatTimeouts(whole=0.1)) as model:
                await said(model)
        assert await asyncio.to_thread(server.chats[0].closed.wait, 2)


@BOTH
async def test_closing_the_iterator_closes_the_connection(provider: Provider) -> None:
    """MR-11: a reader who leaves, and a task that is cancelled, end the work at the provider."""
    with serve_model(Say("x" * 50, after="forever")) as server:
        async with opened(connection(server, provider)) as model:
            async with aclosing(model.stream(ASK)) as stream:  # type: ignore[type-var]
                async for _ in stream:
                    break
            left = time.monotonic()
            assert await asyncio.to_thread(server.chats[0].closed.wait, 2)
            assert (server.chats[0].closed_at or 0) - left < 1
            task = asyncio.create_task(said(model))
            await asyncio.to_thread(server.arrived, 2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.chats[1].closed.wait, 2)


async def test_endpoints_that_know_less_are_asked_for_less() -> None:
    """Fields that a server refuses are left out, or sent under their other name, and this is remembered."""
    habits = EndpointQuirks()
    with serve_model(Say("ok"), refuses=frozenset({"stream_options", "max_tokens", "temperature"})) as server:
        reply = await ask(server, habits=habits)
        asked = len(server.chats)
        await ask(server, habits=habits)
    assert reply.content == "ok" and reply.usage.estimated and reply.usage.completion_tokens == 1
    assert asked == 4 and len(server.chats) == 5
    assert server.chats[-1].body["max_completion_tokens"] == 50


@pytest.mark.parametrize("field", ["temperature", "seed"])
async def test_what_a_client_set_and_the_endpoint_refuses_is_refused_by_name(field: str) -> None:
    """At first and once it is known; every provider's default is no wish, and is left out as the agent's own is."""
    habits = EndpointQuirks()
    wished = replace(ASK, sampling=SamplingParameters(**{field: 0.5 if field == "temperature" else 7}))
    default = replace(ASK, sampling=SamplingParameters(temperature=1.0))
    with serve_model(Say("ok"), refuses=frozenset({field})) as server:
        for _ in range(2):
            with pytest.raises(Invalid, match=f"{field}: this agent's model takes no such parameter"):
                await ask(server, request=wished, habits=habits)
            assert len(server.chats) == 1, "the second is refused before it is sent"
        assert (await ask(server, request=default, habits=habits)).content == "ok"
    with serve_model(Say("ok"), refuses=frozenset({"tools"})) as server, pytest.raises(Unusable, match="tools"):
        await ask(server, request=replace(ASK, tools=(SUM,)))


async def test_what_a_client_set_is_never_left_out_however_much_else_an_endpoint_refuses() -> None:
    refuses = frozenset({"stream_options", "max_tokens", "max_completion_tokens", "temperature"})
    wished = replace(ASK, sampling=SamplingParameters(temperature=0.5))
    with serve_model(Say("ok"), refuses=refuses) as server, pytest.raises(Invalid, match="temperature"):
        await ask(server, request=wished, habits=EndpointQuirks())


@BOTH
async def test_an_endpoint_that_cannot_stream_gives_its_reply_in_one_piece(provider: Provider) -> None:
    say = Say("All at once.", calls=(Use("sum", {"a": 1}),), reasoning="Hm.")
    with serve_model(say, streams=False) as server:
        async with opened(connection(server, provider)) as model:
            pieces, reply = await said(model, replace(ASK, tools=(SUM,)))
    assert pieces == [ReplyDelta("All at once.", "Hm.")]
    assert reply.content == "All at once." and json.loads(reply.tool_calls[0].arguments) == {"a": 1}
    assert reply.usage.completion_tokens > 0 and not reply.usage.estimated
    if provider is Provider.OPENAI:
        with serve_model(say, refuses=frozenset({"stream"})) as server:
            assert (await ask(server)).content == "All at once." and len(server.chats) == 2


@BOTH
async def test_bodies_that_are_no_replies(provider: Provider) -> None:
    bodies: Sequence[tuple[object, dict[str, str]]] = [
        ({"surprise": 1}, {}),
        ([1, 2], {}),
        ("text", {}),
        (None, {}),
        (b"\xff\xfe", {}),
        (b"[" * 100_000, {}),
        (b"", {}),
        (b"data: [1, 2]\n\n", {"Content-Type": "text/event-stream"}),
        (b"event: x\ndata: 7\n\n", {"Content-Type": "text/event-stream"}),
        (b'data: {"error": {"message": "out of memory"}}\n\n', {"Content-Type": "text/event-stream"}),
        (b'event: error\ndata: {"error": {"message": "out"}}\n\n', {"Content-Type": "text/event-stream"}),
        ({"choices": [{"message": None, "finish_reason": None}]}, {}),
        ({"choices": "x", "content": 3}, {}),
    ]
    for body, headers in bodies:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        with serve_model(Say(body=raw, headers=headers)) as server, pytest.raises(Unavailable):
            await ask(server, provider, waits=())
    with (
        serve_model(Say(body=b"<html>", headers={"Content-Type": "text/html"})) as server,
        pytest.raises(Unusable, match="web page"),
    ):
        await ask(server, provider, waits=())


async def test_nobody_there() -> None:
    with serve_model() as server:
        gone = connection(server)
    with pytest.raises(Unavailable, match="cannot be reached"):
        async with opened(gone, waits=()) as model:
            await said(model)


async def test_text_that_cannot_be_sent_is_the_requests_fault() -> None:
    with serve_model() as server, pytest.raises(Invalid):
        await ask(server, request=ChatRequest((ModelMessage("user", "lone \ud800 surrogate"),)))


async def test_a_hundred_streams_share_one_client() -> None:
    with serve_model(Say("Hello there", between=0.02)) as server:
        async with model_client() as client:
            model = open_model(connection(server), None, client, Naps())
            replies = await asyncio.gather(*(said(model) for _ in range(100)))
        assert {reply.content for _, reply in replies} == {"Hello there"}
    assert isinstance(client, httpx2.AsyncClient)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ANSWER = ToolSpec("give_answer", "answers", SCHEMA)


@pytest.mark.parametrize(
    ("provider", "choice", "sent"),
    [
        (Provider.OPENAI, "required", "required"),
        (Provider.OPENAI, "sum", {"type": "function", "function": {"name": "sum"}}),
        (Provider.OPENAI, None, None),
        (Provider.ANTHROPIC, "required", {"type": "any"}),
        (Provider.ANTHROPIC, "sum", {"type": "tool", "name": "sum"}),
        (Provider.OLLAMA, "required", None),
    ],
)
async def test_a_choice_of_tools_travels_in_the_providers_words(
    provider: Provider, choice: str | None, sent: object
) -> None:
    """MR-11: a model that takes no tools is sent no choice of them."""
    with serve_model() as server:
        await ask(server, provider, replace(ASK, tools=(SUM,), tool_choice=choice))
    assert server.chats[0].body.get("tool_choice") == sent


@pytest.mark.parametrize(
    ("provider", "tools", "offered", "native"),
    [
        (Provider.OPENAI, (SUM, ANSWER), ["sum"], True),
        (Provider.OPENAI, (ANSWER,), [], True),
        (Provider.ANTHROPIC, (SUM, ANSWER), ["sum", "give_answer"], False),
        (Provider.COHERE, (ANSWER,), ["give_answer"], False),
        (Provider.OLLAMA, (), [], True),
        (Provider.CUSTOM, (), [], False),
    ],
)
async def test_a_form_is_promised_by_the_provider_or_is_a_tool(
    provider: Provider, tools: tuple[ToolSpec, ...], offered: list[str], native: bool
) -> None:
    """MR-11: `response_format` where the table says so; else the answer is a call, and some call has to be made."""
    form = ResponseForm(SCHEMA, "count", True, "give_answer")
    with serve_model() as server:
        await ask(server, provider, replace(ASK, tools=tools, form=form))
    body = server.chats[0].body
    assert [tool.get("name") or tool["function"]["name"] for tool in body.get("tools", ())] == offered
    wanted = {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA, "strict": True}}
    assert body.get("response_format") == (wanted if native else None)
    forced = {"type": "any"} if provider is Provider.ANTHROPIC else "required"
    assert body.get("tool_choice") == (forced if offered and not native else None)


async def test_a_grammar_leaves_no_way_to_call_a_tool() -> None:
    """A server that holds its model to a form by a grammar is not asked for both."""
    request = replace(ASK, tools=(SUM, ANSWER), form=ResponseForm(None, tool="give_answer"))
    with serve_model() as server:
        async with opened(connection(server, Provider.OLLAMA, tools=True)) as model:
            await said(model, request)
            await said(model, replace(request, tools=(ANSWER,)))
    both, alone = (asked.body for asked in server.chats)
    assert "response_format" not in both and len(both["tools"]) == 2 and both["tool_choice"] == "required"
    assert alone["response_format"] == {"type": "json_object"} and "tools" not in alone and "tool_choice" not in alone


@pytest.mark.parametrize("field", ["tool_choice", "response_format"])
async def test_a_server_that_does_not_know_the_field_is_asked_without_it(field: str) -> None:
    request = replace(ASK, tools=(SUM,), tool_choice="required", form=ResponseForm(SCHEMA))
    with serve_model(refuses=frozenset({field})) as server:
        habits = EndpointQuirks()
        for _ in range(2):
            assert (await ask(server, request=request, habits=habits)).content == "ok"
    assert [field in asked.body for asked in server.chats] == [True, False, False]
