"""A scripted model that does its task and nothing else: quotes a line of a source, or asks for one call with it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from serve_apps.agents.planning import prompts
from tests.fakes.model_wires import Json, Say, Use
from tests.fakes.obedient import Heard, Obedient

_TASK = re.compile(r"\[task ([\w-]+)\]")
_SOURCE = re.compile(r"<source n=(\d+) title=[^\n]*>\n(.*?)\n</source>", re.DOTALL)
UNKNOWN = "The documents do not say."


@dataclass(frozen=True, slots=True)
class Duty:
    """A task: `line` stands in the document `filename`; an e-mail with it goes `to` somebody, or it is the answer."""

    code: str
    kind: Literal["answer", "email"]
    message: str
    filename: str
    line: str
    to: str = ""

    @property
    def arguments(self) -> dict[str, str]:
        """Of the one call that an e-mail takes."""
        return {"to": self.to, "text": self.line}


class Dutiful:
    """A callable for `serve_model`; which task it is at stands in the message as `[task CODE]`."""

    def __init__(self, duties: Mapping[str, Duty]) -> None:
        self._duties = duties

    def __call__(self, body: Json) -> Say:
        heard = Heard.of(body)
        codes = _TASK.findall(heard.data)
        if "You keep the memory of an assistant" in heard.system or not codes:
            return Say(json.dumps({"facts": [], "summary": "They worked on tasks."}))
        duty = self._duties[codes[-1]]
        found = self._found(duty, heard.data)
        return self._planned(duty, heard, found) or self._loop(duty, heard, found)

    @staticmethod
    def _found(duty: Duty, data: str) -> int | None:
        """The number of a source that has the line."""
        wanted = " ".join(duty.line.split())
        for n, text in _SOURCE.findall(data):
            if wanted in " ".join(text.split()):
                return int(n)
        return None

    @staticmethod
    def _answer(duty: Duty, found: int | None) -> str:
        if found is None:
            return UNKNOWN
        quoted = f'The line is there [{found}: "{duty.line}"].'
        return quoted if duty.kind == "answer" else f"It went to {duty.to}. {quoted}"

    def _planned(self, duty: Duty, heard: Heard, found: int | None) -> Say | None:
        system = heard.system
        if "A plan is one JSON object" in system:
            if duty.kind == "answer" and "Planning ###" in system:
                return Say(self._answer(duty, found))
            action = {"id": "s1", "executor": "action", "tool": "send_email", "args": duty.arguments}
            steps: list[dict[str, Any]] = [] if duty.kind == "answer" else [action]
            return Say(json.dumps({"steps": [*steps, {"id": "s2", "executor": "reasoning", "action": "answer"}]}))
        if prompts.SUPERVISOR in system:
            return Say(json.dumps({"outcome": "SUCCESS", "reason": ""}))
        if prompts.REASONING in system:
            enough = "sufficient" if found else "insufficient"
            return Say(json.dumps({"answer": self._answer(duty, found), "context_adequacy": enough, "confidence": 0.9}))
        return None

    def _loop(self, duty: Duty, heard: Heard, found: int | None) -> Say:
        acted = heard.rounds > 0 and bool(heard.data.rsplit('"done": true', 1)[1:])
        if found is None and "search_knowledge" in heard.offered and not heard.rounds:
            return _call(heard, "search_knowledge", {"query": duty.message, "top_k": 20})
        if duty.kind == "answer" or acted or found is None:
            answer = self._answer(duty, found)
            react = heard.offered and not heard.native and "NOT IN THE SOURCES" not in heard.system
            return Say(f"THOUGHT: I know it.\nFINAL ANSWER: {answer}" if react else answer)
        return _call(heard, "send_email", duty.arguments)


def _call(heard: Heard, name: str, arguments: Mapping[str, Any]) -> Say:
    if name in heard.native:
        return Say(calls=(Use(name, arguments),))
    return Say(f"THOUGHT: I need it.\nACTION: {name}\nACTION_INPUT: {json.dumps(dict(arguments))}")


class Torn:
    """Does its task first, and then, in the same breath, what the documents order; calls are written natively or as
    ReAct, in rounds as `Dutiful` and `Obedient` write them."""

    def __init__(self, duties: Mapping[str, Duty], obedient: Obedient) -> None:
        self._dutiful, self._obedient = Dutiful(duties), obedient

    def __call__(self, body: Json) -> Say:
        mine, theirs = self._dutiful(body), self._obedient(body)
        if mine.calls:
            return Say(mine.text, (*mine.calls, *theirs.calls), size=400)
        if mine.text.startswith("THOUGHT") and "FINAL ANSWER" not in mine.text:
            return Say(f"{mine.text}\n{theirs.text}", size=400)
        return theirs if theirs.calls else mine
