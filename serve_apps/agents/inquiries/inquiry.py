"""`request_user_input`: an agent asks the person it talks to, and its turn ends until their next message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cluster.basics.errors import Invalid, Permanent
from cluster.models.messages import ToolSpec
from serve_apps.agents.inquiries.reply_intent import Intent, chosen, intent_of
from serve_apps.agents.turn_errors import ActionRejected
from serve_apps.agents.turn_ports import Journal, Json, Turn
from skills.framework.builtin import shipped_skill
from skills.framework.catalogue import ToolCatalog
from skills.framework.contract import CallEffect, ToolInvocation, TurnBound

NAME = "request_user_input"
PERSON = "person"  # of a turn's options: somebody reads along who can be asked
NOBODY = (
    f"there is nobody to ask: this turn has no person who reads along, so {NAME} cannot be called; go on with what you "
    "know, and say in your answer what you would have asked."
)
AGAIN = "I could not read that as a yes or a no."


class InquirySubject(StrEnum):
    """The subject of a question to a person."""

    CLARIFICATION = "clarification"
    SELECTION = "selection"
    CONFIRMATION = "confirmation"
    TEAM_SELECTION = "team_selection"
    APPROVAL = "approval"


_DECIDED = frozenset({InquirySubject.CONFIRMATION, InquirySubject.APPROVAL})
_CHOSEN = frozenset({InquirySubject.SELECTION, InquirySubject.TEAM_SELECTION})


class Unanswered(Permanent):
    """Nobody answered the question in time."""

    code, status = "unanswered", 409
    fix = "Go on with what you know, and say what you would have asked."


class NobodyToAsk(Permanent):
    """There is nobody to ask in this turn."""

    code, status = "nobody_to_ask", 409


@dataclass(frozen=True, slots=True)
class Inquiry(TurnBound):
    """The tool, bound to one turn's journal. Each question is a recorded step, not the call as a whole."""

    journal: Journal

    @property
    def spec(self) -> ToolSpec:
        """See `Tool`."""
        return shipped_skill(NAME).spec

    @property
    def effect(self) -> CallEffect:
        """Asking changes nothing outside."""
        return CallEffect.READ

    async def run(self, call: ToolInvocation) -> Json:
        """{reply, ...}: with `intent` where it is decided, with `selected` where it is chosen.

        Raises ApprovalPending where nobody has answered (the turn ends here and is resumed by the answer), Unanswered
        where nobody has in time, Invalid where there is nothing to choose from.
        """
        category = InquirySubject(call.arguments["category"])
        if category in _CHOSEN and not call.arguments.get("options"):
            raise Invalid(f"options: a {category} needs what can be chosen from")
        given = call.arguments
        question = {name: given[name] for name in ("question", "category", "options") if name in given}
        try:
            reply = await self.journal.inquire(question)
            if category in _CHOSEN:
                return {"reply": reply, "selected": chosen(reply, question["options"])}
            if category not in _DECIDED:
                return {"reply": reply}
            intent = intent_of(reply)
            if intent is Intent.UNCLEAR:  # once: whoever is unclear twice is read by the model, as unclear
                reply = await self.journal.inquire({**question, "question": f"{AGAIN} {question['question']}"})
                intent = intent_of(reply)
        except ActionRejected as error:
            raise Unanswered(error.detail) from None
        return {"reply": reply, "intent": str(intent)}


def inquiring(tools: ToolCatalog, turn: Turn, journal: Journal) -> ToolCatalog:
    """The tool as well, where there is a person to ask and the answer has no form that a question would break."""
    if turn.options.get(PERSON) is not True or turn.options.get("response_format") or turn.depth or NAME in tools:
        return tools
    return tools.plus(Inquiry(journal))


def as_said(question: str, options: Sequence[str] = ()) -> str:
    """A question as a message of the agent: what its clients show, and what later turns read."""
    return "\n".join([question, *(f"{n}. {option}" for n, option in enumerate(options, 1))])


def said_of(asked: Mapping[str, Any]) -> str:
    """As `as_said`, of the data of an event or of what is stored."""
    return as_said(str(asked.get("question", "")), [str(one) for one in asked.get("options") or ()])
