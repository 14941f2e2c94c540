"""Authorisation of turns: a frozen scope is cut to the rights that its user still has, and lasts as long as they do."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, TypeVar

from cluster.basics.errors import Forbidden, Transient
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore, Standing, WorkspaceMember, least_role
from serve_apps.agents.turn_ports import Turn

log = logging.getLogger("aos.agents")

PAUSE_SECONDS: Final = 2.0  # between two looks: whose rights end has ended within five seconds
T = TypeVar("T")


class NoMember(Forbidden):
    """Whoever asked is no member of this workspace any more, or is disabled."""

    code = "no_member"
    fix = "Ask an administrator of the workspace; a member can ask again."


class RightsEnded(Forbidden):
    """Whoever asked has lost rights, or the login or API key by which they asked was ended."""

    code = "rights_ended"
    fix = "Sign in, and ask again with the rights that there are now."


class RightsCheck:
    """Looks when a turn is begun or resumed, also days later by an approval, and every moment while it runs.

    It notes nothing in the journal: replays go without it, as nothing is done there.
    """

    def __init__(self, identity: IdentityStore, audit: AuditLog, pause: float = PAUSE_SECONDS) -> None:
        """`pause` in seconds between two looks while a turn runs."""
        self._identity, self._audit, self._pause = identity, audit, pause

    async def carry(self, turn: Turn, work: Callable[[Turn], Awaitable[T]]) -> T:
        """Do the work with the rights that are left, and cancel it when any of those end; a refusal is in the trail.

        A login that was ended before the turn is resumed is no matter: people sign out while others decide. An API key
        that was revoked is one, as it may have been somebody else's by then.

        Raises:
            NoMember: the user is gone, disabled, or no member of the workspace.
            RightsEnded: they have lost rights in the meantime, or the credential was ended.
        """
        if turn.scope.user is None:  # the system itself
            return await work(turn)
        try:
            then = await self._identity.standing(turn.scope)
            narrowed = replace(turn, scope=_remaining(turn.scope, then))
            if then.ended and not (turn.scope.credential or "").startswith("session:"):
                raise RightsEnded("the API key was revoked")
            return await self._while_held(narrowed.scope, then.ended, work(narrowed))
        except (NoMember, RightsEnded) as error:
            await self._audit.denied(turn.scope, "run.carry", turn.run, {"reason": error.code})
            raise

    async def _while_held(self, scope: Scope, ended_before: bool, work: Awaitable[T]) -> T:
        working = asyncio.ensure_future(work)
        watching = asyncio.create_task(self._until_lost(scope, ended_before))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                watching.result()  # raises why
            return working.result()
        finally:
            watching.cancel()
            working.cancel()
            await asyncio.wait({working, watching})

    async def _until_lost(self, scope: Scope, ended_before: bool) -> None:
        """Raises NoMember, RightsEnded: when any of the scope's rights are gone."""
        while True:
            await asyncio.sleep(self._pause)
            try:
                now = await self._identity.standing(scope)
            except Transient as error:
                log.warning("whether a running turn's user still may could not be looked up: %s", error)
                continue
            if _remaining(scope, now) != scope:
                raise RightsEnded("a role or a group was taken away")
            if now.ended and not ended_before:
                raise RightsEnded("the login or API key was ended")


def _remaining(scope: Scope, standing: Standing) -> Scope:
    """Raises NoMember: nothing remains."""
    if standing.member is None:
        raise NoMember(f"user {scope.user}")
    return remaining_scope(scope, standing.member)


def remaining_scope(scope: Scope, member: WorkspaceMember) -> Scope:
    """Intersection of a frozen scope with its member's rights now; an API key's scope stays below its user's."""
    role = least_role(scope.role, member.role)
    now = replace(member, role=role).scope.principals
    return replace(scope, role=role, principals=tuple(one for one in scope.principals if one in now))
