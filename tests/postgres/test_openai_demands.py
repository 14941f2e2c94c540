"""tool_choice and response_format of stock clients, over the agents as they are and a scripted model on real HTTP."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from cluster.basics.scope import Role
from configs.settings import load_settings
from serve_apps.wiring.http import build_app_dependencies
from tests.fakes.http import open_office
from tests.fakes.listening import listening, token
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say, Use
from tests.fakes.models import FakeEmbedder
from tests.fakes.orchestrator import ScriptedOrchestrator

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"station": {"type": "string"}, "city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "report", "schema": SCHEMA, "strict": True}}
ASK: Any = {"model": "assistant", "messages": [{"role": "user", "content": "How cold is it in Oslo?"}]}
GOOD = '{"city": "Oslo", "degrees": -3}'
CALL = Use("weather", {"city": "Oslo"})
WRITTEN = 'ACTION: weather\nACTION_INPUT: {"city": "Oslo"}'

Serve = Callable[..., Any]


class Served:
    """An endpoint of OpenAI's shape, and the model behind it."""

    def __init__(self, url: str, key: str, model: ModelServer) -> None:
        self.v1, self.key, self.model = f"{url}/v1", key, model
        self.client = openai.OpenAI(base_url=self.v1, api_key=key, max_retries=0)

    @property
    def bodies(self) -> list[Any]:
        return [asked.body for asked in self.model.chats]


@pytest.fixture
def serving(admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path) -> Serve:
    """`with serving(*replies, provider=…, tools=…) as served`: the assistant speaks to a model that says these."""
    office = open_office(admin_dsn)

    @contextmanager
    def serve(
        *replies: Say, provider: str = "openai", tools: bool = True, refuses: frozenset[str] = frozenset()
    ) -> Iterator[Served]:
        with serve_model(*replies, refuses=refuses) as model:
            file = tmp_path / "models.yaml"
            about = {"name": "m", "base_url": model.url, "model": "scripted-1", "provider": provider}
            file.write_text(json.dumps({"connections": [about | {"supports_tools": tools}], "default": "m"}))
            settings = load_settings(
                {
                    "AOS_STATE_DIR": str(tmp_path),
                    "DATABASE_URL": app_dsn,
                    "REDIS_URL": redis_url,
                    "AOS_MODELS_CONNECTIONS_FILE": str(file),
                    "AOS_AGENTS_PLACEMENT": "inproc",
                }
            )
            parts = build_app_dependencies(settings, FakeEmbedder(), None, ScriptedOrchestrator)
            with listening(parts) as url:
                served = Served(url, token(url, office.emails[Role.VIEWER]), model)
                with served.client:
                    yield served

    return serve


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "weather"}}])
@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama"])
def test_gw_04_a_demanded_tool_is_called(serving: Serve, choice: Any, provider: str) -> None:
    """GW-04: passed to providers that take it, said in the prompt to others, told once more to whoever only talks."""
    native = provider != "ollama"
    call = Say(calls=(CALL,)) if native else Say(WRITTEN)
    with serving(Say("It is cold there."), call, provider=provider, tools=native) as served:
        done = served.client.chat.completions.create(**ASK, tools=[WEATHER], tool_choice=choice)
    made = (done.choices[0].message.tool_calls or [])[0]
    assert done.choices[0].finish_reason == "tool_calls" and done.choices[0].message.content is None
    assert (made.function.name, json.loads(made.function.arguments)) == ("weather", {"city": "Oslo"})
    named: dict[str, Any] = {"openai": choice, "ollama": None}
    named["anthropic"] = {"type": "any"} if choice == "required" else {"type": "tool", "name": "weather"}
    assert [body.get("tool_choice") for body in served.bodies] == [named[provider]] * 2
    system = served.bodies[0]["messages"][0]["content"] if provider != "anthropic" else served.bodies[0]["system"]
    assert ("you have to call" in system) is not native
    assert "did not call" in json.dumps(served.bodies[1]["messages"][-1])


def test_gw_04_sampling_that_the_agents_model_does_not_take_is_refused_in_a_sentence(serving: Serve) -> None:
    """GW-04: not left out in silence; what the agent itself would like of a model may be."""
    with serving(Say("It is cold there."), refuses=frozenset({"seed", "temperature"})) as served:
        for wish in ({"seed": 7}, {"temperature": 0.1}):
            with pytest.raises(openai.UnprocessableEntityError, match="takes no such parameter") as refused:
                served.client.chat.completions.create(**ASK, tools=[WEATHER], **wish)
            assert next(iter(wish)) in str(refused.value)
        done = served.client.chat.completions.create(**ASK, tools=[WEATHER])
    assert done.choices[0].message.content == "It is cold there."


def test_gw_04_a_model_that_never_calls_is_an_error_in_openais_shape(serving: Serve) -> None:
    """GW-04: whole and in a stream; not a word of what was said instead."""
    with serving(Say("It is cold there.")) as served:
        with pytest.raises(openai.InternalServerError) as refused:
            served.client.chat.completions.create(**ASK, tools=[WEATHER], tool_choice="required")
        assert (refused.value.status_code, refused.value.code) == (502, "tool_not_called")
        assert "cold" not in str(refused.value) and len(served.bodies) == 2
        said = []
        with pytest.raises(openai.APIError, match="weather") as broken:
            for chunk in served.client.chat.completions.create(
                **ASK, tools=[WEATHER], tool_choice="required", stream=True
            ):
                said.append(chunk.choices[0].delta.content or "")
        assert broken.value.code == "tool_not_called" and "".join(said) == ""


@pytest.mark.parametrize(
    ("provider", "tools", "reply"),
    [
        ("openai", True, Say(GOOD)),
        ("openai", False, Say(GOOD)),
        ("ollama", False, Say(f"FINAL ANSWER: {GOOD}")),
        ("anthropic", True, Say(calls=(Use("give_answer", GOOD),))),
        ("custom", False, Say(f"```json\n{GOOD}\n```")),
    ],
)
def test_gw_04_an_answer_has_the_form_that_was_asked_for(
    serving: Serve, provider: str, tools: bool, reply: Say
) -> None:
    """GW-04: by the provider's own means where it has them, in words elsewhere; checked, and repaired once."""
    with serving(Say('{"city": "Oslo"}'), reply, provider=provider, tools=tools) as served:
        done = served.client.chat.completions.create(**ASK, response_format=FORMAT)
        assert done.choices[0].message.content == GOOD and done.choices[0].finish_reason == "stop"
        assert done.choices[0].message.tool_calls is None
        session: Any = (done.model_extra or {})["aos"]["session_id"]
        for body in served.bodies:
            # The agent has tools of its own, and calls are text for a model without native ones.
            assert body.get("response_format") == (FORMAT if provider == "openai" and tools else None)
            assert "degrees" in json.dumps(body["messages"][0] if provider != "anthropic" else body["system"])
        assert "'degrees' is a required property" in json.dumps(served.bodies[1]["messages"][-1])
        kept = kept_messages(served, session)
        first = served.bodies[0]
        said = json.dumps(first["system" if provider == "anthropic" else "messages"]).partition("### Form of")[2]
        shown = [said, json.dumps(first["response_format"] if provider == "openai" and tools else said)]
        shown += [json.dumps(one) for one in first.get("tools", ()) if one.get("name") == "give_answer"]
        assert all(text.index("station") < text.index("city") for text in shown), "models write in the schema's order"
        assert len(shown) == (3 if provider == "anthropic" else 2)
    assert kept == ["How cold is it in Oslo?", GOOD]


def kept_messages(served: Served, session: str) -> list[str]:
    """What is kept of the conversation."""
    url = f"{served.v1.removesuffix('/v1')}/api/sessions/{session}/messages"
    answer = httpx.get(url, headers={"Authorization": f"Bearer {served.key}"})
    return [one["text"] for one in answer.json()["items"]]


def test_gw_04_an_answer_without_the_form_is_an_error_with_a_code(serving: Serve) -> None:
    """GW-04: after one repair; json_object needs an object, whichever."""
    with serving(Say("It is cold.")) as served:
        for form in (FORMAT, {"type": "json_object"}):
            with pytest.raises(openai.InternalServerError) as refused:
                served.client.chat.completions.create(**ASK, response_format=form)
            assert (refused.value.status_code, refused.value.code) == (502, "answer_not_in_form")
        assert len(served.bodies) == 4
        with pytest.raises(openai.UnprocessableEntityError, match="give_answer"):
            tool = {"type": "function", "function": {"name": "give_answer"}}
            served.client.chat.completions.create(**ASK, response_format=FORMAT, tools=[tool])
    with serving(Say('{"any": ["thing"]}')) as served:
        with served.client.chat.completions.stream(**ASK, response_format={"type": "json_object"}) as stream:
            assert stream.get_final_completion().choices[0].message.content == '{"any": ["thing"]}'
        none = served.client.chat.completions.create(
            **ASK, response_format={"type": "json_object"}, tools=[WEATHER], tool_choice="none"
        )
        assert none.choices[0].message.content == '{"any": ["thing"]}'
        assert "tools" not in served.bodies[-1], "no tools were wanted, the agent's own among them"


class Report(BaseModel):
    city: str
    degrees: int


def test_gw_04_stock_clients_parse_what_comes(serving: Serve) -> None:
    """GW-04: openai's `parse` and LangChain's structured output, by schema and by a forced function."""
    with serving(Say(GOOD)) as served:
        done = served.client.chat.completions.parse(**ASK, response_format=Report)
        assert done.choices[0].message.parsed == Report(city="Oslo", degrees=-3)
        model = ChatOpenAI(model="assistant", base_url=served.v1, api_key=served.key, max_retries=0)
        assert model.with_structured_output(Report).invoke("How cold?") == Report(city="Oslo", degrees=-3)
    with serving(Say(calls=(Use("Report", json.loads(GOOD)),))) as served:
        model = ChatOpenAI(model="assistant", base_url=served.v1, api_key=served.key, max_retries=0)
        forced = model.with_structured_output(Report, method="function_calling")
        assert forced.invoke("How cold?") == Report(city="Oslo", degrees=-3)
        assert served.bodies[0]["tool_choice"] == {"type": "function", "function": {"name": "Report"}}
