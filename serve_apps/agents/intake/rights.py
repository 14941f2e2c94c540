"""Authorisation of resumed turns: a frozen scope is cut to the rights that its user still has."""

from dataclasses import replace

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore, WorkspaceMember, least_role
from serve_apps.agents.turn_ports import Journal, Turn, TurnHandler, TurnOutcome


class NoMember(Forbidden):
    """Whoever asked is no member of this workspace any more, or is disabled."""

    code = "no_member"
    fix = "Ask an administrator of the workspace; a member can ask again."


class StillAllowed:
    """A `Handler` around another, for turns that are begun or resumed, also days later by an approval.

    It looks each time and notes nothing in the journal: replays walk the handlers without it, as nothing is done there.
    """

    def __init__(self, handler: TurnHandler, identity: IdentityStore, audit: AuditLog) -> None:
        """`handler` carries the turn out; it and whom it delegates to see the rights that are left."""
        self._handler, self._identity, self._audit = handler, identity, audit

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """As `Handler`.

        Raises:
            NoMember: the user is gone, disabled, or no member of the workspace; the refusal is in the audit trail.
        """
        scope = turn.scope
        if scope.user is None:  # the system itself
            return await self._handler(turn, journal)
        member = await self._identity.member(scope.tenant, scope.user, scope.workspace)
        if member is None:
            await self._audit.denied(scope, "run.carry", turn.run, {"reason": NoMember.code})
            raise NoMember(f"user {scope.user}")
        return await self._handler(replace(turn, scope=remaining_scope(scope, member)), journal)


def remaining_scope(scope: Scope, member: WorkspaceMember) -> Scope:
    """Intersection of a frozen scope with its member's rights now; an API key's scope stays below its user's."""
    role = least_role(scope.role, member.role)
    now = replace(member, role=role).scope.principals
    return replace(scope, role=role, principals=tuple(one for one in scope.principals if one in now))
