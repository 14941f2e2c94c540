"""The refusal that tells which limit was met, whose it is, and when to come back."""

from base64 import b64encode
from math import ceil
from typing import Any

from cluster.basics.errors import Transient
from cluster.state.limits.request_counts import LimitState
from cluster.state.limits.rules import LimitedResource, LimitRule, LimitWindow


class RateLimited(Transient):
    """A limit is used up."""

    code, status = "rate_limited", 429

    def __init__(self, rule: LimitRule, retry_after: float, *, left: int = 0, local: bool = False) -> None:
        """`retry_after`: seconds until there may be room."""
        self.rule, self.seconds, self.local = rule, retry_after, local
        self.retry_after = max(1, ceil(retry_after))
        self.headers = limit_headers(LimitState(rule, False, left, self.retry_after, local))
        # How the window is told: "30 chat a minute".
        every = "at a time" if rule.window is LimitWindow.AT_ONCE else f"a {rule.window}"
        whose = "this caller" if rule.kind is None else f"this {rule.kind}"
        super().__init__(
            f"{whose} may have {rule.amount.normalize():f} {rule.resource} {every}",
            fix=f"Wait {self.retry_after} seconds. GET /api/limits/mine (aos limits mine) shows your limits; "
            "an administrator of the tenant can change them.",
        )

    @property
    def limit(self) -> dict[str, Any]:
        """The limit for programs."""
        rule = self.rule
        amount = float(rule.amount) if rule.amount % 1 else int(rule.amount)
        about = {"resource": str(rule.resource), "amount": amount, "window": str(rule.window)}
        return about | {"subject_kind": rule.subject_kind, "subject": rule.subject}


def limit_headers(state: LimitState) -> dict[str, str]:
    """`RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10) for requests, bytes and the like.

    A policy is named for its resource; `pk` names its partition, so that a client can tell counts of a key, of a person
    and of a workspace apart. `aos-local` says that only the process that answered has counted. The fields take whole
    numbers alone: money has none.
    """
    rule = state.rule
    if rule.resource is LimitedResource.USD:
        return {}
    window = f";w={rule.seconds}" if rule.seconds else ""
    local = ";aos-local" if state.local else ""
    policy = f'"{rule.resource}";q={int(rule.amount)}{window};pk=:{_partition(rule)}:{local}'
    return {"RateLimit-Policy": policy, "RateLimit": f'"{rule.resource}";r={state.left};t={ceil(state.reset)}{local}'}


def _partition(rule: LimitRule) -> str:
    """A byte sequence of structured fields (RFC 9651) is base64."""
    return b64encode(f"{rule.subject_kind}:{rule.subject}".encode()).decode()
