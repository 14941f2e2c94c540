"""Clients as they are, against a real server: openai, LangChain, the llm command; and readers who walk away."""

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from cluster.basics.errors import Overloaded, Unavailable
from cluster.basics.scope import Role
from configs.settings import load_settings
from serve_apps.agents.intake.response_demand import ANSWER
from serve_apps.http.streams.replay_slots import FewReplays
from serve_apps.http.streams.sse import StreamPacing
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.http import make_parts, open_office
from tests.fakes.listening import listening, token, wait_for
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import DIMENSION, FakeEmbedder
from tests.fakes.orchestrator import Act, ScriptedOrchestrator, asks_first, says

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

WRITTEN = 'ACTION: weather\nACTION_INPUT: {"city": "Oslo"}'


@dataclass
class Server:
    url: str
    token: str
    agents: ScriptedOrchestrator

    @property
    def v1(self) -> str:
        return f"{self.url}/v1"


@pytest.fixture
def server(admin_dsn: str, app_dsn: str, tmp_path: Path) -> Iterator[Server]:
    agents = ScriptedOrchestrator()
    office = open_office(admin_dsn)
    with listening(make_parts(app_dsn, tmp_path, orchestrator=agents, pace=StreamPacing(0.02, 8, 0.2))) as url:
        made = Server(url, token(url, office.emails[Role.OPERATOR]), agents)
        httpx.post(f"{url}/api/agents", json={"name": "Clerk"}, headers=bearing(made))
        yield made


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.v1, api_key=server.token, max_retries=0) as made:
        yield made


def hands_over(incoming: Any) -> list[Act]:
    """Asks for the client's tool, and answers once its result is there."""
    results = [one for one in incoming.options.get("trailing", ()) if one["role"] == "tool"]
    if results:
        return says(f"It is {results[0]['content']}.")
    call = {"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}
    return says("", pieces=[], finish_reason="tool_calls", tool_calls=[call])[-2:]


def test_gw_04_the_openai_client_chats_whole_and_in_a_stream(server: Server, client: openai.OpenAI) -> None:
    """GW-04, ST-04: the last user message is the question, what is before it the history; usage where asked for."""
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello, Ada."},
        {"role": "user", "content": [{"type": "text", "text": "Who am I?"}]},
    ]
    more = {"session_id": "s-1"}
    done = client.chat.completions.create(
        model="Clerk", messages=messages, extra_body=more, temperature=0.2, max_tokens=9, user="x"
    )
    assert done.choices[0].message.content == "You said: Who am I?" and done.choices[0].finish_reason == "stop"
    assert done.usage is not None and done.usage.total_tokens == 17 and done.model == "Clerk"
    assert done.id.startswith("chatcmpl-")
    _, asked = server.agents.asked[-1]
    assert (asked.message, asked.session) == ("Who am I?", "s-1")
    assert [(one.role, one.content) for one in asked.history] == [
        ("system", "Be brief."),
        ("user", "My name is Ada."),
        ("assistant", "Hello, Ada."),
    ]
    assert asked.options == {"stream": False, "temperature": 0.2, "max_tokens": 9, "sampling": {"temperature": 0.2}}
    options: Any = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="Clerk", messages=messages, stream=True, stream_options=options))
    assert chunks[0].choices[0].delta.role == "assistant" and chunks[0].choices[0].delta.content == ""
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "You said: Who am I?"
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None and chunks[-1].usage.prompt_tokens == 12
    with client.chat.completions.stream(model="Clerk", messages=messages) as stream:
        assert stream.get_final_completion().choices[0].message.content == "You said: Who am I?"


def test_gw_04_the_openai_client_runs_its_own_tools(server: Server, client: openai.OpenAI) -> None:
    """GW-04: tools of the client come back as tool_calls, whole and streamed; results go on with the next request."""
    server.agents.script = hands_over
    messages: list[Any] = [{"role": "user", "content": "The weather in Oslo?"}]
    tools: Any = [WEATHER]
    done = client.chat.completions.create(model="Clerk", messages=messages, tools=tools, tool_choice="required")
    assert done.choices[0].finish_reason == "tool_calls" and done.choices[0].message.tool_calls is not None
    call: Any = done.choices[0].message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Oslo"})
    options = server.agents.asked[-1][1].options
    assert options["tools"][0]["name"] == "weather" and options["tool_choice"] == "required"
    with client.chat.completions.stream(model="Clerk", messages=messages, tools=tools) as stream:
        final: Any = stream.get_final_completion().choices[0]
    assert final.finish_reason == "tool_calls" and final.message.tool_calls[0].id == "call_1"
    messages += [done.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "-3 degrees"}]
    again = client.chat.completions.create(model="Clerk", messages=messages, tools=tools)
    assert again.choices[0].message.content == "It is -3 degrees."
    asked = server.agents.asked[-1][1]
    assert asked.message == "The weather in Oslo?" and asked.history == ()
    assert [one["role"] for one in asked.options["trailing"]] == ["assistant", "tool"]
    client.chat.completions.create(model="Clerk", messages=messages[:1], tools=tools, tool_choice="none")
    assert "tools" not in server.agents.asked[-1][1].options
    named: Any = {"type": "function", "function": {"name": "weather"}}
    client.chat.completions.create(model="Clerk", messages=messages[:1], tools=tools, tool_choice=named)
    assert server.agents.asked[-1][1].options["tool_choice"] == "weather"


def test_gw_04_a_choice_without_tools_is_about_the_agents_own(server: Server, client: openai.OpenAI) -> None:
    """GW-04: `none` and `required` reach the agent, whose own tools they are about; nobody names what it cannot see."""
    ask: Any = {"model": "Clerk", "messages": [{"role": "user", "content": "hi"}]}
    choices: tuple[Any, ...] = ("none", "required", "auto")
    for choice in choices:
        client.chat.completions.create(**ask, tool_choice=choice)
        options = server.agents.asked[-1][1].options
        assert options["tool_choice"] == choice and "tools" not in options
    form: Any = {"type": "json_object"}
    client.chat.completions.create(**ask, tool_choice="none", response_format=form)
    assert server.agents.asked[-1][1].options["tool_choice"] == ANSWER, "the answer is given, and no tool is called"
    asked, named = len(server.agents.asked), {"type": "function", "function": {"name": "weather"}}
    without: tuple[Any, ...] = ({}, {"tools": []})
    for tools in without:
        body = ask | tools | {"tool_choice": named}
        answer = httpx.post(f"{server.v1}/chat/completions", json=body, headers=bearing(server))
        assert answer.status_code == 422 and answer.json()["error"].keys() >= {"message", "type", "param", "code"}
        assert "there is no tool weather" in answer.json()["error"]["message"]
    assert len(server.agents.asked) == asked


@pytest.mark.parametrize("native", [True, False])
def test_gw_04_what_a_clients_tool_gave_is_in_the_answer(
    admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path, native: bool
) -> None:
    """GW-04: call, result, answer, over the agents as they are; the model knows only what it was sent."""

    def reply(body: Any) -> Say:
        found = [one["content"] for one in body["messages"] if one["role"] == "tool"]
        found += [one["content"] for one in body["messages"] if str(one["content"]).startswith("OBSERVATION: ")]
        if found:
            return Say(f"It is {found[-1]}." if native else f"FINAL ANSWER: It is {found[-1].split(': ')[1]}.")
        return Say(calls=(Use("weather", {"city": "Oslo"}),)) if native else Say(WRITTEN)

    office = open_office(admin_dsn)
    with serve_model(reply) as model:
        settings = load_settings(
            {
                "AOS_STATE_DIR": str(tmp_path),
                "DATABASE_URL": app_dsn,
                "REDIS_URL": redis_url,
                "LLM_BASE_URL": model.url,
                "LLM_DEFAULT_MODEL": "scripted-1",
                "AOS_LLM_SUPPORTS_TOOLS": str(native).lower(),
                "AOS_AGENTS_PLACEMENT": "inproc",
            }
        )
        parts = build_app_dependencies(settings, FakeEmbedder(), None, ScriptedOrchestrator)
        assert isinstance(parts.replays, FewReplays), "a replay shares this process with the turns"
        with listening(parts) as url:
            key = token(url, office.emails[Role.VIEWER])
            with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
                messages: list[Any] = [{"role": "user", "content": "The weather in Oslo?"}]
                tools: Any = [WEATHER]
                asked = client.chat.completions.create(model="assistant", messages=messages, tools=tools)
                assert asked.choices[0].finish_reason == "tool_calls", asked
                call: Any = (asked.choices[0].message.tool_calls or [])[0]
                assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Oslo"})
                messages += [asked.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "-3"}]
                done = client.chat.completions.create(model="assistant", messages=messages, tools=tools)
                assert (done.choices[0].message.content, done.choices[0].finish_reason) == ("It is -3.", "stop")


def test_gw_04_models_are_agents_and_embeddings_have_both_encodings(server: Server, client: openai.OpenAI) -> None:
    """GW-04: GET /v1/models lists what chats; POST /v1/embeddings as floats and base64, other dimensions refused."""
    assert {model.id for model in client.models.list()} == {"assistant", "Clerk"}
    assert [client.models.retrieve(id_).id for id_ in ("Clerk", "assistant", "fake")] == ["Clerk", "assistant", "fake"]
    asked: Any = [{"role": "user", "content": "hi"}]
    client.chat.completions.create(model="assistant", messages=asked)  # nobody has made it, it is always there
    texts = ["the lease ends in May", "the lease ends in May", "a boat"]
    packed = client.embeddings.create(model="fake", input=texts)  # this client asks for base64 by itself
    plain = client.embeddings.create(model="fake", input=texts, encoding_format="float")
    assert [len(one.embedding) for one in packed.data] == [DIMENSION] * 3 and [o.index for o in plain.data] == [0, 1, 2]
    assert packed.data[0].embedding == pytest.approx(plain.data[1].embedding, abs=1e-6)
    assert client.embeddings.create(model="fake", input="x", dimensions=DIMENSION).usage.prompt_tokens == 1
    with pytest.raises(openai.UnprocessableEntityError, match="dimensions"):
        client.embeddings.create(model="fake", input="x", dimensions=7)
    with pytest.raises(openai.NotFoundError, match="fake"):
        client.embeddings.create(model="text-embedding-3-small", input="x")
    raw = httpx.post(f"{server.v1}/embeddings", json={"model": "fake", "input": "x"}, headers=bearing(server)).json()
    assert isinstance(raw["data"][0]["embedding"][0], float)


def test_gw_04_an_agent_is_a_model_whatever_its_name_holds(server: Server, client: openai.OpenAI) -> None:
    made = {"name": "Prüf/Süd 2", "whole_workspace": True}
    httpx.post(f"{server.url}/api/agents", json=made, headers=bearing(server)).raise_for_status()
    assert client.models.retrieve("Prüf/Süd 2").id == "Prüf/Süd 2"


def test_gw_04_the_embedding_model_says_that_it_does_not_chat(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="makes vectors") as refused:
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "hi"}])
    assert refused.value.code == "not_a_chat_model"


def test_gw_04_sampling_reaches_the_agent_or_is_refused(server: Server, client: openai.OpenAI) -> None:
    ask: Any = {"model": "Clerk", "messages": [{"role": "user", "content": "hi"}]}
    wanted: Any = {"top_p": 0.5, "presence_penalty": 0.25, "frequency_penalty": -1.0, "seed": 7}
    client.chat.completions.create(**ask, **wanted)
    assert server.agents.asked[-1][1].options["sampling"] == wanted
    client.chat.completions.create(**ask, temperature=0.25, parallel_tool_calls=False)
    given = server.agents.asked[-1][1].options
    assert (given["sampling"], given["parallel_tool_calls"]) == ({"temperature": 0.25}, False)
    client.chat.completions.create(**ask, logprobs=False)
    assert "sampling" not in server.agents.asked[-1][1].options
    refusals: Any = (
        {"logprobs": True},
        {"logprobs": True, "top_logprobs": 3},
        {"logit_bias": {"50256": -100}},
        {"n": 2},
        {"functions": [{"name": "f"}]},
        {"function_call": "none"},
    )
    for refused in refusals:
        with pytest.raises(openai.UnprocessableEntityError) as error:
            client.chat.completions.create(**ask, **refused)
        assert error.value.param in refused
        assert "function" not in str(error.value.param) or "send `tools` and `tool_choice`" in str(error.value)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("stop", "shown"),
    [("morning", "Good "), (["evening", "od mor"], "Go"), ("none of it", "Good morning"), (["G"], "")],
)
def test_gw_04_an_answer_ends_before_a_stop_sequence(
    server: Server, client: openai.OpenAI, stream: bool, stop: Any, shown: str
) -> None:
    """Also where the sequence comes in pieces, and where no model wrote the answer."""
    server.agents.script = lambda incoming: says("Good morning", pieces=["Good mo", "rn", "ing"])
    ask: Any = {"model": "Clerk", "messages": [{"role": "user", "content": "hi"}], "stop": stop}
    if stream:
        chunks = [chunk.choices[0] for chunk in client.chat.completions.create(**ask, stream=True) if chunk.choices]
        assert "".join(choice.delta.content or "" for choice in chunks) == shown
        assert chunks[-1].finish_reason == "stop"
    else:
        choice = client.chat.completions.create(**ask).choices[0]
        assert (choice.message.content or "", choice.finish_reason) == (shown, "stop")


def test_gw_04_no_error_tells_of_the_validator(server: Server) -> None:
    """Token numbers, as LangChain sends them, a picture, a wrong role: each in a sentence of ours."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iV"}}
    asked: list[tuple[str, dict[str, Any], str]] = [
        ("embeddings", {"model": "fake", "input": [[47, 372, 375]]}, "not token numbers"),
        ("embeddings", {"model": "fake", "input": [1, 2]}, "not token numbers"),
        ("embeddings", {"model": "fake", "input": {}}, "list"),
        ("embeddings", {"model": "fake", "input": ["a", ""]}, "an empty text has no vector"),
        ("chat/completions", {"model": "Clerk", "messages": [{"role": "user", "content": [picture]}]}, "pictures"),
        ("chat/completions", {"model": "Clerk", "messages": [{"role": "robot", "content": "x"}]}, "role"),
        ("chat/completions", {"model": "Clerk", "messages": [], "stop": 3}, "stop"),
        ("chat/completions", {"model": "Clerk", "messages": [], "tool_choice": {"type": 3}}, "tool_choice"),
    ]
    for path, body, wanted in asked:
        reply = httpx.post(f"{server.v1}/{path}", json=body, headers=bearing(server))
        told = reply.json()["error"]
        assert reply.status_code == 422 and wanted in told["message"], told
        for inside in ("function-", "constrained", "list[", "0x", "functools", "Value error", ".str"):
            assert inside not in reply.text, told


def bearing(server: Server) -> dict[str, str]:
    return {"Authorization": f"Bearer {server.token}"}


def test_gw_04_every_error_is_in_openais_shape(server: Server, client: openai.OpenAI) -> None:
    """GW-04: {error: {message, type, param, code}} for 400, 401, 404, 405, 422, 429 and 502, and in a stream."""
    ask: Any = {"model": "Clerk", "messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(openai.BadRequestError, match="No user message found"):
        client.chat.completions.create(model="Clerk", messages=[{"role": "system", "content": "hi"}])
    with pytest.raises(openai.AuthenticationError) as refused:
        client.with_options(api_key="sk-nobody").chat.completions.create(**ask)
    assert refused.value.code == "invalid_api_key"
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(**{**ask, "model": "gpt-4o"})
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-4o")
    with pytest.raises(openai.UnprocessableEntityError) as wrong:
        client.chat.completions.create(**ask, temperature=9)
    assert (wrong.value.param, wrong.value.type) == ("temperature", "invalid_request_error")
    broken: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "list"}}}
    for form, place in (
        ({"type": "xml"}, "response_format.type"),
        ({"type": "json_schema"}, "response_format"),
        (broken, "response_format.json_schema.schema"),
    ):
        with pytest.raises(openai.UnprocessableEntityError) as refused_form:
            client.chat.completions.create(**ask, response_format=form)
        assert refused_form.value.param == place
    server.agents.script = lambda incoming: [Overloaded("too many")]
    with pytest.raises(openai.RateLimitError) as busy:
        client.chat.completions.create(**ask)
    assert busy.value.type == "rate_limit_error"
    server.agents.script = lambda incoming: ["par", Unavailable("the model is down")]
    with pytest.raises(openai.InternalServerError) as down:
        client.chat.completions.create(**ask)
    assert down.value.status_code == 502
    with pytest.raises(openai.APIError, match="the model is down"):
        list(client.chat.completions.create(**ask, stream=True))
    for method, path, status in (("GET", "/nowhere", 404), ("PUT", "/models", 405), ("POST", "/embeddings", 422)):
        answer = httpx.request(method, server.v1 + path, headers=bearing(server))
        assert answer.status_code == status and set(answer.json()["error"]) == {"message", "type", "param", "code"}
    short = httpx.post(f"{server.v1}/agent/chat", json={}, headers=bearing(server))
    assert short.json()["code"] == "invalid", "what is not OpenAI's keeps the shape of the house"


def test_a_pending_approval_shows_in_a_stock_client(server: Server, client: openai.OpenAI) -> None:
    server.agents.script = lambda incoming: asks_first("a-17")
    done = client.chat.completions.create(model="Clerk", messages=[{"role": "user", "content": "send"}])
    assert "POST /api/approvals/a-17" in str(done.choices[0].message.content)
    assert done.model_extra is not None and done.model_extra["aos"]["approval"]["id"] == "a-17"


def test_langchain_invokes_streams_and_binds_tools(server: Server) -> None:
    model = ChatOpenAI(model="Clerk", base_url=server.v1, api_key=server.token, max_retries=0)  # type: ignore[arg-type]
    assert model.invoke("hi").content == "You said: hi"
    assert "".join(str(chunk.content) for chunk in model.stream("hi there")) == "You said: hi there"

    @tool
    def weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    server.agents.script = hands_over
    asked = model.bind_tools([weather]).invoke("The weather in Oslo?")
    assert asked.tool_calls[0]["name"] == "weather" and asked.tool_calls[0]["args"] == {"city": "Oslo"}
    streamed = None
    for chunk in model.bind_tools([weather]).stream("The weather in Oslo?"):
        streamed = chunk if streamed is None else streamed + chunk
    assert streamed is not None and streamed.tool_calls[0]["args"] == {"city": "Oslo"}  # type: ignore[attr-defined]
    vectors = OpenAIEmbeddings(
        model="fake",
        base_url=server.v1,
        api_key=server.token,
        check_embedding_ctx_length=False,  # type: ignore[arg-type]
    )
    assert len(vectors.embed_documents(["a", "b"])) == 2 and len(vectors.embed_query("a")) == DIMENSION


def test_the_llm_command_chats_streams_and_runs_tools(server: Server, tmp_path: Path) -> None:
    models: list[dict[str, Any]] = [
        {"model_id": "clerk", "model_name": "Clerk", "api_base": server.v1, "supports_tools": True}
    ]
    models[0]["api_key_name"] = "aos"
    folder = tmp_path / "llm"
    folder.mkdir()
    (folder / "extra-openai-models.yaml").write_text(yaml.safe_dump(models))
    (folder / "keys.json").write_text(json.dumps({"aos": server.token}))
    environment = os.environ | {"LLM_USER_PATH": str(folder)}
    program = [sys.executable, "-m", "llm"]

    def llm(*arguments: str) -> str:
        done = subprocess.run(
            [*program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert llm("-m", "clerk", "hi") == "You said: hi"
    assert server.agents.asked[-1][1].options["stream"] is True
    assert llm("-m", "clerk", "--no-stream", "-s", "Be brief.", "hello") == "You said: hello"
    assert server.agents.asked[-1][1].history[0].role == "system"
    server.agents.script = hands_over
    code = "def weather(city: str) -> str:\n    'The weather.'\n    return 'rain in ' + city"
    assert llm("-m", "clerk", "--functions", code, "The weather in Oslo?") == "It is rain in Oslo."


@pytest.mark.parametrize("path", ["/api/chat/Clerk", "/v1/chat/completions", "/api/v1/agents/process"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_reader_who_walks_away_stops_the_model(server: Server, path: str, stream: bool) -> None:
    """The connection is cut by a raw socket: the orchestrator's events are closed within five seconds."""
    server.agents.script = lambda incoming: ["The answer ", 60.0, *says("never told")]
    message = {"message": "hi", "model": "Clerk", "messages": [{"role": "user", "content": "hi"}], "agent_id": "Clerk"}
    wanted = {"/api/chat/Clerk": ["message"], "/v1/chat/completions": ["model", "messages"]}
    keys = wanted.get(path, ["message", "agent_id"])
    body = json.dumps({**{key: message[key] for key in keys}, "stream": stream}).encode()
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST {path} HTTP/1.1\r\nHost: aos\r\nAuthorization: Bearer {server.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head.encode() + body)
        if stream:
            assert b"200 OK" in connection.recv(4096)
        wait_for(lambda: server.agents.live == 1)
        # A reset, not a polite end: what a killed client leaves behind.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert wait_for(lambda: server.agents.closed == 1 and server.agents.live == 0) < 5


def test_tokens_arrive_while_the_model_is_still_writing(server: Server, client: openai.OpenAI) -> None:
    server.agents.script = lambda incoming: ["first ", 0.5, *says("first last", pieces=["last"])[2:]]
    seen: list[int] = []
    for chunk in client.chat.completions.create(
        model="Clerk", messages=[{"role": "user", "content": "hi"}], stream=True
    ):
        if chunk.choices and chunk.choices[0].delta.content:
            seen.append(server.agents.live)
    assert seen[0] == 1, "the first token was read while the turn still ran"
