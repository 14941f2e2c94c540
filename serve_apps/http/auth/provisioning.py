"""The stores behind SCIM, and the rules by which groups of a provider open workspaces of a tenant."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.identity.groups import GroupStore
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.identity.provisioned_groups import ProvisionedGroupStore
from cluster.state.identity.provisioned_people import ProvisionedPeopleStore, ProvisionedRule
from configs.sign_in_providers import ScimTenant


@dataclass(frozen=True, slots=True)
class ScimProvisioning:
    """People and groups by SCIM.

    Attributes:
        tenants: what belonging to groups gives, by tenant; what names none is about the first tenant.
    """

    people: ProvisionedPeopleStore
    groups: ProvisionedGroupStore
    tenants: Sequence[ScimTenant]

    @classmethod
    def over(cls, database: Database, tenants: Sequence[ScimTenant]) -> "ScimProvisioning":
        """Over this database."""
        groups = ProvisionedGroupStore(database, GroupStore(database))
        return cls(ProvisionedPeopleStore(database), groups, tenants)

    async def rules(self, me: WorkspaceMember) -> list[ProvisionedRule]:
        """Those of the caller's tenant."""
        found = [one for one in self.tenants if one.tenant is not None and str(one.tenant) == me.tenant]
        if unnamed := [one for one in self.tenants if one.tenant is None]:
            found += unnamed if me.first_tenant else []
        return [
            ProvisionedRule(
                rule.value.strip().lower(),
                rule.workspace,
                Role(rule.role),
                None if rule.tenant_role is None else Role(rule.tenant_role),
            )
            for one in found
            for rule in one.rules
        ]
