"""A language model as searches ask it: says what a test wrote down, takes its time, or fails."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest
from cluster.models.routing.tasks import Task
from serve_apps.retrieval.search.query_writer import WriterReply


@dataclass
class FakeWriter:
    """A `QueryWriter`; `reply` is a text, a JSON object, or makes one of the request; `failing` is raised."""

    reply: Any = ""
    failing: Exception | None = None
    seconds: float = 0.0
    asked: list[tuple[str | None, Task, ChatRequest]] = field(default_factory=list)

    async def write(
        self,
        scope: Scope,
        agent: str | None,
        task: Task,
        request: ChatRequest,
        listen: Callable[[str], None] | None = None,
    ) -> WriterReply:
        self.asked.append((agent, task, request))
        await asyncio.sleep(self.seconds)
        if self.failing is not None:
            raise self.failing
        reply = self.reply(request) if callable(self.reply) else self.reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        if listen is not None:
            listen(text)
        return WriterReply(text, "scripted-1")
