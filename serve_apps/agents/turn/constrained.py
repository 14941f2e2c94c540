"""Policy of turns whose client demands a call or JSON of a form: the turn ends so, or with an error that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cluster.models.messages import ModelMessage, ModelReply, ToolSpec
from serve_apps.agents.intake.response_demand import (
    ANSWER,
    NotCalled,
    NotInForm,
    ResponseDemand,
    demand_prompt,
    missing_call_prompt,
    read_demanded_answer,
    repair_prompt,
    tool_phrase,
)
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.turn import prompt
from serve_apps.agents.turn.reply_policy import ReplyPolicy
from serve_apps.agents.turn.stream_filter import StreamFilter
from serve_apps.agents.turn.tool_runner import as_messages, native_reply, react_reply
from serve_apps.agents.turn_ports import TurnOutcome

if TYPE_CHECKING:
    from serve_apps.agents.turn.agent_loop import Conversation


class DemandPolicy(ReplyPolicy):
    """Nothing of a reply is shown before it is known to be what was demanded; each demand is repeated once.

    Only the turn as a whole is held to it: the agent may use its own tools on the way. A turn that runs out of rounds,
    time or money still ends as any other, with `length`.
    """

    def __init__(self, demand: ResponseDemand) -> None:
        self._demand = demand
        self._repeated: set[type[NotCalled | NotInForm]] = set()

    def prepare(self, talk: Conversation) -> None:
        """Say the demand in the prompt, and to providers that enforce it."""
        form = self._demand.form
        if talk.react and any(spec.name != ANSWER for spec in talk.offer.specs):
            form = None  # a model that is held to the form cannot write a call
        talk.sampling = replace(talk.sampling, tools=tuple(map(self._as_given, talk.sampling.tools)), form=form)
        if said := demand_prompt(self._demand, _callable_tools(talk), react=talk.react):
            rules = talk.messages[0]
            talk.messages[0] = replace(rules, content=f"{rules.content}\n\n{said}")

    def before_round(self, talk: Conversation) -> None:
        """Name the call that a provider is to hold the model to."""
        choice = None
        if self.owes_call(talk):
            choice = self._demand.choice
        elif self._demand.form is not None and talk.is_last:
            choice = ANSWER
        talk.sampling = replace(talk.sampling, choice=None if talk.react else choice)

    def owes_call(self, talk: Conversation) -> bool:
        """A call of a client's tool ends the turn, so that one is owed as long as the turn goes on."""
        return self._demand.choice is not None and (bool(talk.offer.client_names - {ANSWER}) or talk.runner.ran == 0)

    def withholds(self, talk: Conversation) -> bool:
        """What is not yet known to be what was demanded."""
        return self.owes_call(talk) or self._demand.form is not None

    async def review(
        self, talk: Conversation, reply: ModelReply, parsed: ParsedReply, release: StreamFilter
    ) -> ParsedReply | TurnOutcome | None:
        """The reply where it is a step on the way, the end where it is what was demanded.

        Raises NotCalled, NotInForm: it is not, and was said already.
        """
        form, choice = self._demand.form, self._demand.choice
        others = tuple(call for call in parsed.calls if form is None or call.name != ANSWER)
        if choice is not None and self.owes_call(talk) and not others and not parsed.unknown:
            tools = _callable_tools(talk)
            error = NotCalled(f"it had to call {tool_phrase(choice, tools)}")
            said = missing_call_prompt(choice, tools, react=talk.react)
            await self._repeat_demand(talk, reply, parsed, error, said)
            return None
        if form is None or others:
            return replace(parsed, calls=others)
        answer, flaw = read_demanded_answer(form, reply.content, parsed)
        if flaw is None:
            await talk.tell(answer, reply, parsed)
            return talk.outcome("stop")
        if parsed.unknown and not parsed.calls:
            return parsed
        await self._repeat_demand(talk, reply, parsed, NotInForm(flaw), repair_prompt(flaw))
        return None

    async def _repeat_demand(
        self, talk: Conversation, reply: ModelReply, parsed: ParsedReply, error: NotCalled | NotInForm, said: str
    ) -> None:
        """Say once more what was demanded.

        Raises NotCalled, NotInForm: it was said already, or there is no round left to say it in.
        """
        talk.trace.append({"step": "demand", "code": error.code, "unmet": error.detail[:300]})
        await talk.tell("", reply, parsed)
        if type(error) in self._repeated or talk.is_last:
            raise error
        self._repeated.add(type(error))
        if calls := [wanted for wanted, _ in talk.calls(parsed)]:
            made = native_reply(reply.content, calls) if reply.tool_calls else react_reply(parsed.thought, calls)
            talk.messages += as_messages(made, [(wanted, prompt.neutral(said)) for wanted in calls])
            return
        if reply.content.strip():
            talk.messages.append(ModelMessage("assistant", reply.content))
        talk.messages.append(ModelMessage("user", said))

    def _as_given(self, spec: ToolSpec) -> ToolSpec:
        """The tool with its properties in the order in which the client gave them, which a frozen turn has lost."""
        schema = None if self._demand.form is None else self._demand.form.schema
        return spec if schema is None or spec.name != ANSWER else replace(spec, parameters=schema)


def _callable_tools(talk: Conversation) -> list[ToolSpec]:
    """The tools that a demanded call may be of: the client's where it has some, for it cannot see the others."""
    theirs = [spec for spec in talk.offer.client if spec.name != ANSWER]
    return theirs or list(talk.offer.own.specs())
