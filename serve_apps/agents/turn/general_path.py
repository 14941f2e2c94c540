"""The handler of GENERAL: the tool loop within what the settings, the agent and a delegating turn allow."""

from serve_apps.agents.intake.response_demand import demand_of
from serve_apps.agents.turn.agent_loop import Conversation, TurnServices
from serve_apps.agents.turn.constrained import DemandPolicy
from serve_apps.agents.turn.limits import TurnAllowance, agent_limit
from serve_apps.agents.turn_ports import Journal, Turn, TurnOutcome


class ToolLoopHandler:
    """The `Handler` of GENERAL, and of every turn that is delegated."""

    def __init__(self, services: TurnServices) -> None:
        self._services = services

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """As `run_conversation`, with all that the settings and the agent allow."""
        return await run_conversation(turn, journal, self._services)


async def run_conversation(
    turn: Turn, journal: Journal, services: TurnServices, above: TurnAllowance | None = None
) -> TurnOutcome:
    """Carry a turn out: at most `max_rounds` replies within `seconds`; waiting for people does not count.

    What happens is a function of turn and journal. `above` is what the delegating turn has left, and is used up too.

    Raises:
        ApprovalPending: a person has to decide first.
        NoModel, OverBudget, Unavailable, Overloaded, Invalid: there is no model to ask, or none that answers.
        NotCalled, NotInForm: the turn's client demands what the model does not give, also when it is told again.
    """
    settings, config = services.settings, turn.agent.config
    rounds = int(agent_limit(config, "max_iterations", settings.max_rounds))
    seconds = agent_limit(config, "timeout_seconds", settings.seconds)
    left = above or TurnAllowance(rounds, journal.spent_ms + round(seconds * 1000), turn.agent)
    own = left.narrowed(rounds, seconds, journal)
    granted = own.rounds

    async def carry_out(below: Turn, inside: Journal, left: TurnAllowance) -> TurnOutcome:
        return await run_conversation(below, inside, services, left)

    demand = demand_of(turn)
    policies = () if demand is None else (DemandPolicy(demand),)
    try:
        return await Conversation(turn, journal, services, own, carry_out, policies).run()
    finally:
        left.rounds -= granted - own.rounds
