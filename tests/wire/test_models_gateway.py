"""One way to many providers: agents name models by what they are for, the connections say whose models these are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from cluster.basics.scope import Scope
from cluster.models.chat.factory import open_model
from cluster.models.connections.configured import ConfiguredConnections, load_connections
from cluster.models.connections.egress import model_client
from cluster.models.connections.endpoint_connection import ModelConnection
from cluster.models.messages import ModelReply
from cluster.models.ports import ChatModel
from cluster.models.routing.router import ModelRouter
from configs.sections import LlmSettings
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.routing import HELLO, SCOPE, MemoryPurse

ROLES = {"planning": "planner", "classify": "supervisor", "tool_call": "skillsrunner", "chat": "composer"}


@dataclass
class Everywhere:
    """The connections of a file, opened by the real clients."""

    known: ConfiguredConnections
    client: httpx2.AsyncClient

    async def offered(self, scope: Scope) -> tuple[Sequence[ModelConnection], str | None]:
        return self.known.connections, self.known.default

    async def open(self, scope: Scope, connection: ModelConnection) -> ChatModel:
        async def no_sleep(_: float) -> None: ...

        return open_model(connection, self.known.keys.get(connection.id), self.client, no_sleep, waits=())


def catalogue(folder: Path, openai: ModelServer, anthropic: ModelServer) -> ConfiguredConnections:
    """Four logical names at two providers."""
    one = {"base_url": openai.url, "provider": "openai", "key": "key-one"}
    two = {"base_url": anthropic.root, "provider": "anthropic", "key": "key-two"}
    entries: list[dict[str, Any]] = [
        {"name": "planner", "model": "large-1", **one},
        {"name": "supervisor", "model": "careful-2", **two},
        {"name": "skillsrunner", "model": "small-1", **one},
        {"name": "composer", "model": "fluent-2", **two},
    ]
    file = folder / "models.yaml"
    file.write_text(yaml.safe_dump({"connections": entries, "default": "composer"}))
    return load_connections(file, LlmSettings())


async def test_mr_12_a_logical_name_reaches_its_providers_model_in_that_providers_dialect(tmp_path: Path) -> None:
    """MR-12: planner, supervisor, skillsrunner and composer are names; provider, model and key are the connection's."""
    with serve_model(Say("one")) as openai, serve_model(Say("two")) as anthropic:
        async with model_client() as client:
            router = ModelRouter(Everywhere(catalogue(tmp_path, openai, anthropic), client), MemoryPurse())
            replies = {}
            for task in ROLES:
                config = {"llm_routing": {"task_routing": ROLES}}
                said = [piece async for piece in router.stream(SCOPE, "an agent", config, task, HELLO)]
                assert isinstance(said[-1], ModelReply)
                replies[task] = said[-1].content
        assert replies == {"planning": "one", "classify": "two", "tool_call": "one", "chat": "two"}
        assert [(one.path, one.body["model"]) for one in openai.chats] == [
            ("/v1/chat/completions", "large-1"),
            ("/v1/chat/completions", "small-1"),
        ]
        assert [(one.path, one.body["model"]) for one in anthropic.chats] == [
            ("/v1/messages", "careful-2"),
            ("/v1/messages", "fluent-2"),
        ]
        assert {one.headers["authorization"] for one in openai.chats} == {"Bearer key-one"}
        assert {one.headers["x-api-key"] for one in anthropic.chats} == {"key-two"}


async def test_mr_12_a_name_is_moved_to_another_provider_without_touching_the_agent(tmp_path: Path) -> None:
    """MR-12: the agent's configuration stays; what stands behind the name is another file."""
    config = {"llm_routing": {"primary_connection_id": "composer"}}
    with serve_model(Say("one")) as openai, serve_model(Say("two")) as anthropic:
        heard = []
        for first, second in ((openai, anthropic), (anthropic, openai)):
            async with model_client() as client:
                router = ModelRouter(Everywhere(catalogue(tmp_path, first, second), client), MemoryPurse())
                said = [piece async for piece in router.stream(SCOPE, "an agent", config, "chat", HELLO)]
                assert isinstance(said[-1], ModelReply)
                heard.append(said[-1].content)
        assert heard == ["two", "one"]
