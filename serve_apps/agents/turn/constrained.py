"""A conversation that ends as its client demands, with a call or with JSON of a form, or with an error that says so."""

from dataclasses import dataclass, replace

from cluster.models.chat.response_format import ResponseForm
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply, ToolSpec
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
from serve_apps.agents.turn.agent_loop import Conversation, TurnServices
from serve_apps.agents.turn.delegation import CarryOut
from serve_apps.agents.turn.limits import TurnAllowance
from serve_apps.agents.turn.model_call import SamplingOptions
from serve_apps.agents.turn.stream_filter import StreamFilter, StreamGuard
from serve_apps.agents.turn.tool_runner import as_messages, native_reply, react_reply
from serve_apps.agents.turn_ports import Journal, Turn, TurnOutcome


@dataclass(frozen=True, slots=True)
class ConstrainedOptions(SamplingOptions):
    """Sampling options with `tool_choice` and response format, for providers that enforce them."""

    choice: str | None = None
    form: ResponseForm | None = None

    def request(self, messages: list[ModelMessage]) -> ChatRequest:
        """The request for a reply to these."""
        return replace(SamplingOptions.request(self, messages), tool_choice=self.choice, form=self.form)


class ConstrainedTurn(Conversation):
    """Nothing of a reply is shown before it is known to be what was demanded; each demand is repeated once.

    Only the turn as a whole is held to it: the agent may use its own tools on the way. A turn that runs out of rounds,
    time or money still ends as any other, with `length`.
    """

    def __init__(
        self,
        turn: Turn,
        journal: Journal,
        crew: TurnServices,
        allowance: TurnAllowance,
        carry_out: CarryOut,
        demand: ResponseDemand,
    ) -> None:
        """As `Conversation`; `demand` is the turn's."""
        super().__init__(turn, journal, crew, allowance, carry_out)
        self._demand = demand
        self._repeated: set[type[NotCalled | NotInForm]] = set()
        self._asking = False

    async def _begin(self) -> None:
        await super()._begin()
        form, manner = self._demand.form, self._manner
        if self._react and any(spec.name != ANSWER for spec in self._offer.specs):
            form = None  # a model that is held to the form cannot write a call
        tools = tuple(self._as_given(spec) for spec in manner.tools)
        self._manner = ConstrainedOptions(
            manner.temperature, manner.max_tokens, tools, manner.stop, manner.sampling, None, form
        )
        if said := demand_prompt(self._demand, self._callable_tools, react=self._react):
            rules = self._messages[0]
            self._messages[0] = replace(rules, content=f"{rules.content}\n\n{said}")

    def _as_given(self, spec: ToolSpec) -> ToolSpec:
        """The tool with its properties in the order in which the client gave them, which a frozen turn has lost."""
        schema = None if self._demand.form is None else self._demand.form.schema
        return spec if schema is None or spec.name != ANSWER else replace(spec, parameters=schema)

    @property
    def _callable_tools(self) -> list[ToolSpec]:
        """The tools that a demanded call may be of: the client's where it has some, for it cannot see the others."""
        theirs = [spec for spec in self._offer.client if spec.name != ANSWER]
        return theirs or list(self._offer.own.specs())

    @property
    def _owes_call(self) -> bool:
        """A call of a client's tool ends the turn, so that one is owed as long as the turn goes on."""
        return self._demand.choice is not None and (bool(self._offer.client_names - {ANSWER}) or self._doing.ran == 0)

    @property
    def _tool_choice(self) -> str | None:
        """The call that a provider is to hold the model to in the coming round."""
        if self._owes_call:
            return self._demand.choice
        return ANSWER if self._demand.form is not None and self._allowance.rounds == 1 else None

    @property
    def _is_last(self) -> bool:
        """A model that owes a call is not told to call nothing."""
        return super()._is_last and not (self._asking and self._owes_call)

    async def _next(self) -> tuple[ModelReply, ParsedReply, StreamFilter]:
        if isinstance(self._manner, ConstrainedOptions):
            self._manner = replace(self._manner, choice=None if self._react else self._tool_choice)
        self._asking = True
        try:
            return await super()._next()
        finally:
            self._asking = False

    def _guard(self) -> StreamGuard:
        if self._owes_call or self._demand.form is not None:
            return StreamGuard(everything=True)
        return super()._guard()

    async def _take(self, reply: ModelReply, parsed: ParsedReply, release: StreamFilter) -> TurnOutcome | None:
        """As `Conversation`, once the reply is what was demanded or a step on the way to it."""
        form, choice = self._demand.form, self._demand.choice
        others = tuple(call for call in parsed.calls if form is None or call.name != ANSWER)
        if choice is not None and self._owes_call and not others and not parsed.unknown:
            error = NotCalled(f"it had to call {tool_phrase(choice, self._callable_tools)}")
            await self._repeat_demand(
                reply, parsed, error, missing_call_prompt(choice, self._callable_tools, react=self._react)
            )
            return None
        if form is None or others:
            return await super()._take(reply, replace(parsed, calls=others), release)
        answer, flaw = read_demanded_answer(form, reply.content, parsed)
        if flaw is None:
            await self._tell(answer, reply, parsed)
            return self._outcome("stop", 0.9)
        if parsed.unknown and not parsed.calls:
            return await super()._take(reply, parsed, release)
        await self._repeat_demand(reply, parsed, NotInForm(flaw), repair_prompt(flaw))
        return None

    async def _repeat_demand(
        self, reply: ModelReply, parsed: ParsedReply, error: NotCalled | NotInForm, said: str
    ) -> None:
        """Say once more what was demanded.

        Raises:
            NotCalled, NotInForm: it was said already, or there is no round left to say it in.
        """
        self._trace.append({"step": "demand", "code": error.code, "unmet": error.detail[:300]})
        await self._tell("", reply, parsed)
        if type(error) in self._repeated or self._allowance.rounds < 1:
            raise error
        self._repeated.add(type(error))
        if calls := [wanted for wanted, _ in self._calls(parsed)]:
            made = native_reply(reply.content, calls) if reply.tool_calls else react_reply(parsed.thought, calls)
            self._messages += as_messages(made, [(wanted, prompt.neutral(said)) for wanted in calls])
            return
        if reply.content.strip():
            self._messages.append(ModelMessage("assistant", reply.content))
        self._messages.append(ModelMessage("user", said))
