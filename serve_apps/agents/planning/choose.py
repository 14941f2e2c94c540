"""CHAT or AGENTIC: by command, by a pattern that leaves no doubt, else by one model call that answers or plans."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from cluster.basics.errors import AosError
from cluster.models.messages import ModelMessage, ModelReply
from cluster.models.routing.tasks import Task
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.planning import prompts
from serve_apps.agents.planning.planner import HOPELESS
from serve_apps.agents.planning.shape import wants_to_be_plan
from serve_apps.agents.planning.work import PlannedTurn
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.model_call import SamplingOptions
from serve_apps.agents.turn.recovery import needs_reprompt
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard

HISTORY = 6  # messages that the choice is made from

# Ours, as the sources name no patterns: small talk needs no plan, and a request for a plan gets one.
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?(?: you| a lot| so much)?|thank you very much|"
    r"bye|goodbye|see you|ok(?:ay)?|great|nice|cool|well done|how are you|who are you|what can you do|"
    r"what is your name)(?: there| again| then| everyone| all| today| for (?:that|this|your help))?[\s!.?,]*",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:make|write|work out|draw up|follow|create) (?:me )?a plan (?:and|then)\b|"
    r"\bplan (?:it |this |that )?and (?:then )?(?:execute|carry|do|run)\b|\bfirst\b[^\n]{3,120}\bthen\b",
    re.IGNORECASE,
)
# A sum: numbers and what is done to them, and nothing else: `what is 17*23`, `12 % of 80`, `wie viel ist 3 mal 4`.
_NUMBER = r"(?:[$€£]?\d[\d.,' ]*(?:\s?(?:%|percent|prozent|\^\d+|²|³|!|squared|cubed|hoch \d+|[$€£]))?|pi|π)"
_OPERATOR = (
    r"(?:[-+*/×·÷:^−]|\*\*|\bx\b|\b(?:plus|minus|times|multiplied by|divided by|over|mod(?:ulo)?|to the power of|"
    r"percent of|of|mal|geteilt durch|durch|hoch|prozent von|von)\b)"
)
_ROOT = r"(?:(?:the )?(?:square |cube )?root of|die (?:quadrat)?wurzel (?:aus|von)|sqrt|√|log|ln|sin|cos|tan)"
_SUM = re.compile(
    rf"(?:(?:please|bitte|hey|ok(?:ay)?|so|and|und)[\s,]+)*"
    rf"(?:(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|work out|solve|evaluate|tell me|(?:can|could) "
    rf"you (?:please )?"
    rf"(?:calculate|compute|work out|solve)|was (?:ist|sind|ergibt|macht)|wie ?viel (?:ist|sind|ergibt|macht)|"
    rf"berechne|rechne)\b[\s:]*)?(?:the (?:sum|product|result|value) "
    rf"of\s+)?[\s(]*-?(?:{_NUMBER}[\s()]*(?:{_OPERATOR}[\s(]*-?(?:{_ROOT}[\s(]*)?{_NUMBER}[\s()]*)+"
    rf"|{_ROOT}[\s(]*{_NUMBER}[\s()]*(?:{_OPERATOR}[\s(]*-?{_NUMBER}[\s()]*)*)"
    rf"(?:=|\?|!|\.|equal|equals|please|bitte|aus|\s)*",
    re.IGNORECASE,
)
LONGEST_SUM = 200  # characters
_LISTED = re.compile(r"^ {0,3}\d{1,2}[.)] +\S", re.MULTILINE)
LEAST_LISTED = 3  # tasks, one a line
LONGEST_LOOKED_AT = 2_000


class TurnMode(StrEnum):
    """Mode in which GENERAL carries a turn out."""

    CHAT = "CHAT"
    AGENTIC = "AGENTIC"


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """A choice and what came with it."""

    mode: TurnMode
    by: Literal["command", "pattern", "model", "fallback"]  # who chose; `fallback` where the model failed, and `why`
    shown: str = ""  # text that the reader has seen and that has to be told as TEXT
    answer: str | None = None  # CHAT: the whole answer, of which `shown` is all; None when the loop has to answer
    reply: ModelReply | None = None  # the model's, for its cost
    said: str | None = None  # AGENTIC: the text that holds a plan, and the prompt it answers
    asked: tuple[ModelMessage, ...] = ()
    why: str = ""


def choose_by_rule(command: str, message: str) -> ModeChoice | None:
    """Without a model; None where one has to decide."""
    if command in ("chat", "agent", "plan"):
        return ModeChoice(TurnMode.CHAT if command == "chat" else TurnMode.AGENTIC, "command")
    text = message.strip()[:LONGEST_LOOKED_AT]
    if _SMALL_TALK.fullmatch(text) or is_sum(text):
        return ModeChoice(TurnMode.CHAT, "pattern")
    if _PLANNED.search(text) or len(_LISTED.findall(text)) >= LEAST_LISTED:
        return ModeChoice(TurnMode.AGENTIC, "pattern")
    return None


def is_sum(text: str) -> bool:
    """True if a message asks for the value of an expression and nothing else."""
    return len(text) <= LONGEST_SUM and _SUM.fullmatch(text.strip()) is not None


async def choose_by_model(work: PlannedTurn) -> ModeChoice:
    """One call: a text is the answer and is shown while it is written, a plan is held back.

    Raises OutOfTime, NoModel, OverBudget where nothing can be asked.
    """
    turn, services = work.turn, work.services
    rules = prompt.build_system_prompt(
        turn.agent,
        grounded=work.grounded,
        plan=prompts.choice_section(work.limits.style, work.limits.steps, work.tools, work.grounded),
        react="",
    )
    messages = prompt.build_messages(replace(turn, history=turn.history[-HISTORY:]), rules, work.sources.all())
    request = SamplingOptions.of(turn, services.settings).request(messages)
    release = StreamFilter(
        work.journal.emit_delta,
        services.clock,
        work.quotes,
        StreamGuard(False, True, lambda text: _is_action(work, text), lambda text: _is_false_claim(work, text)),
    )
    try:
        reply = await work.hear(Task.PLANNING, request, release)
    except HOPELESS:
        raise
    except AosError as error:
        return ModeChoice(TurnMode.AGENTIC, "fallback", release.settle(), why=f"{error.code}: {error.detail}")
    return _read_choice(work, reply, release, request.messages)


def _read_choice(
    work: PlannedTurn, reply: ModelReply, release: StreamFilter, asked: tuple[ModelMessage, ...]
) -> ModeChoice:
    if wants_to_be_plan(reply.content):
        return ModeChoice(TurnMode.AGENTIC, "model", release.settle(), reply=reply, said=reply.content, asked=asked)
    parsed = parse_reply(reply, work.tools.specs(), f"{work.turn.run}/choose")
    answer = parsed.answer or ""
    if parsed.calls or parsed.unknown or _is_false_claim(work, answer):
        # It wants to act, or says that it did: that is the loop's to carry out or to take back.
        return ModeChoice(TurnMode.CHAT, "model", release.settle(), reply=reply, why="it calls or claims")
    if not answer.strip():
        return ModeChoice(TurnMode.AGENTIC, "fallback", release.settle(), reply=reply, why="the model gave no answer")
    shown = release.finish(answer)
    return ModeChoice(TurnMode.CHAT, "model", shown, answer=shown, reply=reply)


def _is_false_claim(work: PlannedTurn, text: str) -> bool:
    """No tool has run: what a text says to have done, it has not."""
    return needs_reprompt(work.turn.message, text) is not None


def _is_action(work: PlannedTurn, text: str) -> bool:
    if wants_to_be_plan(text):
        return True
    found = parse_reply(ModelReply(text), work.tools.specs(), "")
    return bool(found.calls or found.unknown)
