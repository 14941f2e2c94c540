"""The handler of GENERAL: the tool loop within what the settings, the agent and a delegating turn allow."""

from serve_apps.agents.intake.response_demand import demand_of
from serve_apps.agents.turn.constrained import Demanding
from serve_apps.agents.turn.conversation import Conversation, Crew
from serve_apps.agents.turn.limits import Allowance, positive
from serve_apps.agents.turn_ports import Journal, Outcome, Turn

__all__ = ["Crew", "Loop", "converse"]


class Loop:
    """The `Handler` of GENERAL, and of every turn that is delegated."""

    def __init__(self, crew: Crew) -> None:
        """`crew` is shared by all turns."""
        self._crew = crew

    async def __call__(self, turn: Turn, journal: Journal) -> Outcome:
        """As `converse`, with all that the settings and the agent allow."""
        return await converse(turn, journal, self._crew)


async def converse(turn: Turn, journal: Journal, crew: Crew, above: Allowance | None = None) -> Outcome:
    """Carry a turn out: at most `max_rounds` replies within `seconds`; waiting for people does not count.

    Args:
        turn: frozen; what happens is a function of it and of the journal.
        journal: remembers every effect.
        crew: models, tools, documents, the list of approvals.
        above: what the delegating turn has left; it is used up here too.

    Raises:
        Waiting: a person has to decide first.
        NoModel, OverBudget, Unavailable, Overloaded, Invalid: there is no model to ask, or none that answers.
        NotCalled, NotInForm: the turn's client demands what the model does not give, also when it is told again.
    """
    settings, config = crew.settings, turn.agent.config
    rounds = int(positive(config, "max_iterations", settings.max_rounds))
    seconds = positive(config, "timeout_seconds", settings.seconds)
    left = above or Allowance(rounds, journal.spent_ms + round(seconds * 1000), turn.agent)
    own = left.narrowed(rounds, seconds, journal)
    granted = own.rounds

    async def carry_out(below: Turn, inside: Journal, left: Allowance) -> Outcome:
        return await converse(below, inside, crew, left)

    demand = demand_of(turn)
    try:
        if demand is not None:
            return await Demanding(turn, journal, crew, own, carry_out, demand).run()
        return await Conversation(turn, journal, crew, own, carry_out).run()
    finally:
        left.rounds -= granted - own.rounds
