"""Authorisation of resumed turns: a frozen scope is cut to the rights that its user still has."""

from dataclasses import replace

from cluster.basics.errors import Forbidden
from cluster.basics.scope import Scope
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore, WorkspaceMember, least_role
from serve_apps.agents.turn_ports import Turn


class NoMember(Forbidden):
    """Whoever asked is no member of this workspace any more, or is disabled."""

    code = "no_member"
    fix = "Ask an administrator of the workspace; a member can ask again."


class RightsCheck:
    """Looks each time a turn is begun or resumed, also days later by an approval, and notes nothing in the journal:
    replays go without it, as nothing is done there."""

    def __init__(self, identity: IdentityStore, audit: AuditLog) -> None:
        self._identity, self._audit = identity, audit

    async def narrow_turn(self, turn: Turn) -> Turn:
        """The turn with the rights that are left; whom it delegates to has no others.

        Raises NoMember: the user is gone, disabled, or no member of the workspace; the refusal is in the audit trail.
        """
        scope = turn.scope
        if scope.user is None:  # the system itself
            return turn
        member = await self._identity.member(scope.tenant, scope.user, scope.workspace)
        if member is None:
            await self._audit.denied(scope, "run.carry", turn.run, {"reason": NoMember.code})
            raise NoMember(f"user {scope.user}")
        return replace(turn, scope=remaining_scope(scope, member))


def remaining_scope(scope: Scope, member: WorkspaceMember) -> Scope:
    """Intersection of a frozen scope with its member's rights now; an API key's scope stays below its user's."""
    role = least_role(scope.role, member.role)
    now = replace(member, role=role).scope.principals
    return replace(scope, role=role, principals=tuple(one for one in scope.principals if one in now))
