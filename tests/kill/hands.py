"""The executor with two more tools, which leave marks in the world outside: one takes an idempotency key."""

import asyncio
from pathlib import Path
from typing import Any

from ray import serve
from ray.serve import Application

from cluster.models.messages import ToolSpec
from serve_apps.executor import Executor
from skills.framework.contract import CallEffect, ToolInvocation
from tests.fakes.marks import Marks

SECONDS = 1.0  # a tool takes so long, so that a kill may hit it before and after its effect


class Record:
    """Acts once for each key where it takes one, else each time."""

    def __init__(self, effect: CallEffect) -> None:
        name = "record_keyed" if effect is CallEffect.KEYED else "record_plain"
        properties = {"label": {"type": "string"}, "folder": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": ["label", "folder"]}
        self.spec, self.effect = ToolSpec(name, "Records that it ran.", schema), effect

    async def run(self, call: ToolInvocation) -> Any:
        """Leave a mark in the middle."""
        marks = Marks(Path(call.arguments["folder"]))
        await asyncio.sleep(SECONDS / 2)
        marks.leave(call.arguments["label"], call.key if self.effect is CallEffect.KEYED else None)
        await asyncio.sleep(SECONDS / 2)
        return {"recorded": call.arguments["label"]}


class Hands(Executor.func_or_class):  # type: ignore[name-defined,misc]
    """The product's own executor in everything else."""

    def __init__(self) -> None:
        super().__init__()
        for effect in (CallEffect.KEYED, CallEffect.WRITE):
            self._base.tools.add(Record(effect))


def build(args: dict[str, Any]) -> Application:
    """In the place of serve_apps.executor:build."""
    return serve.deployment(Hands, name="Executor").options(**args).bind()
