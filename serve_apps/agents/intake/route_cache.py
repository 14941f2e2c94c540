"""The path router with its decisions remembered in Redis, as the first documents want it; also without Redis."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from redis.asyncio import Redis

from serve_apps.agents.intake.path_router import (
    NO_RULE,
    PathRules,
    RouteDecision,
    command_of,
    normalise_words,
    route_message,
)
from serve_apps.agents.memory.redis_memo import RedisMemo
from serve_apps.agents.turn_ports import TurnPath

# Ours: the sources name neither key nor lifetime. A decision depends on nothing but the message and the rules, so it
# never goes stale (other rules have another fingerprint); a day keeps the memory bounded.
TTL_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class CachedRoute:
    """A decision and where it came from: `cached` is `hit`, `miss`, or `off: ` and why."""

    routed: RouteDecision
    cached: str

    @property
    def data(self) -> Mapping[str, Any]:
        """The data of a ROUTE event: path, rule, words, cached."""
        return {**_route_json(self.routed), "cached": self.cached}


class CachedRouter:
    """Routes messages. The key is the SHA-256 of the words that decide, so it tells nothing of a conversation."""

    def __init__(self, rules: PathRules, redis: Redis | None, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that only grow."""
        self._rules = rules
        self._names = {NO_RULE, "command", *(rule.name for rule in rules.rows)}
        self._memo = RedisMemo(redis, f"aos:route:{rules.fingerprint}:", TTL_SECONDS, clock)

    async def route(self, message: str) -> CachedRoute:
        """As `route`, remembered. What Redis holds is believed only where it could be a decision of these rules."""
        command, _ = command_of(message)
        words = normalise_words(message, self._rules.first_words)
        key = sha256(f"{command if command in self._rules.commands else ''}/{words}".encode()).hexdigest()
        found = await self._memo.get(key)
        known = self._parse_route(found.value)
        if known is not None:
            return CachedRoute(known, "hit")
        routed = route_message(message, self._rules)
        if found.state in ("hit", "miss"):
            await self._memo.put(key, _route_json(routed))
        return CachedRoute(routed, "miss" if found.state == "hit" else found.state)

    def _parse_route(self, value: Any) -> RouteDecision | None:
        match value:
            case {"path": str(path), "rule": str(rule), "words": list(words)}:
                fits = path in set(TurnPath) and rule in self._names and all(isinstance(word, str) for word in words)
                return RouteDecision(TurnPath(path), rule, tuple(words)) if fits else None
        return None


def _route_json(routed: RouteDecision) -> dict[str, Any]:
    return {"path": str(routed.path), "rule": routed.rule, "words": list(routed.words)}
