"""A language model as searches ask it: says what a test wrote down, takes its time, or fails."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest
from cluster.models.tasks import Task
from serve_apps.retrieval.writer import Written


@dataclass
class FakeWriter:
    """A `Writer`; `reply` is a text, or an object that is sent as JSON; `failing` is raised instead."""

    reply: Any = ""
    failing: Exception | None = None
    seconds: float = 0.0
    asked: list[tuple[str | None, Task, ChatRequest]] = field(default_factory=list)

    async def write(self, scope: Scope, agent: str | None, task: Task, request: ChatRequest) -> Written:
        self.asked.append((agent, task, request))
        await asyncio.sleep(self.seconds)
        if self.failing is not None:
            raise self.failing
        return Written(self.reply if isinstance(self.reply, str) else json.dumps(self.reply), "scripted-1")
