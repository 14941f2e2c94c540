"""Errors between us and a model, beyond being unreachable or overloaded."""

from cluster.basics.errors import Invalid, Overloaded, Permanent, Transient


class Busy(Overloaded):
    """The model has too much to do."""

    def __init__(self, detail: str = "", *, retry_after: float = 0.0) -> None:
        """`retry_after` is in seconds, as the server asked for; 0 where it did not say."""
        super().__init__(detail)
        self.retry_after = retry_after


class Unusable(Invalid):
    """This connection cannot be used as it is: its key, its address or its model's name is wrong (401, 403, 404)."""

    code = "unusable"
    fix = "Correct the connection's key, base_url or model."


# A model that makes nothing now: it may answer later, or once its connection is corrected.
AWAY = (Transient, Unusable)


class NoModel(Permanent):
    """No language model is configured."""

    code, status = "no_model", 409
    fix = "Set LLM_BASE_URL and LLM_DEFAULT_MODEL, or add a connection with POST /api/llm-connections."


class OverBudget(Permanent):
    """The budget for this month is spent."""

    code, status = "over_budget", 402
    fix = "Raise budget_usd of the agent or of the tenant."
