"""Puts together what an organisation's rules are kept and carried out with."""

from importlib.resources import files
from pathlib import Path

from cluster.state.db.postgres import Database
from cluster.state.vault import Vault
from cluster.state.work.run_seals import RunSeals
from pipelines.documents.privacy.personal_data import find_personal_data
from serve_apps.governance.governance_parts import GovernanceParts
from serve_apps.governance.policy_effects import PolicyEffects
from serve_apps.governance.policy_rules import read_governance
from serve_apps.governance.policy_store import PolicyStore


def build_governance(database: Database, vault: Vault) -> GovernanceParts:
    """Over the shipped rules. Raises InvalidSettings where their file is wrong."""
    policies = PolicyStore(database, read_governance(Path(str(files("configs"))) / "governance.yaml"))
    seals = RunSeals(database, vault, find_personal_data, policies.masks_journals)
    return GovernanceParts(policies, PolicyEffects(database), seals)
