"""Puts together what an organisation's rules are kept and carried out with."""

from cluster.state.db.postgres import Database
from cluster.state.vault import Vault
from cluster.state.work.run_seals import RunSeals
from pipelines.documents.privacy.document_classes import DocumentClasses
from pipelines.documents.privacy.personal_data import find_personal_data
from pipelines.documents.privacy.policy_rules import GovernanceRules, read_governance
from pipelines.documents.privacy.policy_store import PolicyStore
from serve_apps.governance.governance_parts import GovernanceParts
from serve_apps.governance.policy_effects import PolicyEffects


def build_governance(database: Database, vault: Vault, rules: GovernanceRules | None = None) -> GovernanceParts:
    """Over `rules`, or those that are shipped. Raises InvalidSettings where their file is wrong."""
    policies = PolicyStore(database, rules or read_governance())
    seals = RunSeals(database, vault, find_personal_data, policies.masks_journals)
    return GovernanceParts(policies, PolicyEffects(database), seals, DocumentClasses(database, policies))
