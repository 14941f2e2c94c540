"""Parts that policies are kept and carried out with."""

from dataclasses import dataclass

from cluster.state.work.run_seals import RunSeals
from pipelines.documents.privacy.document_classes import DocumentClasses
from pipelines.documents.privacy.policy_store import PolicyStore
from serve_apps.governance.policy_effects import PolicyEffects


@dataclass(frozen=True, slots=True)
class GovernanceParts:
    """Policies, what they would touch, and what they decide on: the seals of runs, and the classes of documents."""

    policies: PolicyStore
    effects: PolicyEffects
    seals: RunSeals
    classes: DocumentClasses
