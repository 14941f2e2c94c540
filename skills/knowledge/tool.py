"""Search tools: passages of the documents that are linked to the agent that asks."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from cluster.basics.errors import Invalid
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, KnowledgeSearch, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest, options_of
from skills.framework.passage_source import PassageSource

MOST = 20  # passages of one call


class KnowledgeOptions(BaseModel):
    """Options of a search skill: the least cosine similarity where a call names none; usually none.

    A cut by similarity hides the right document where a question is worded otherwise: of 300 questions to SciFact 0.65
    hid it in 60 %, 0.7 in 75 %. So passages are cut by their rank and by their fused score (a similarity is an option).
    """

    model_config = ConfigDict(extra="forbid")
    min_similarity: float | None = Field(None, ge=-1, le=1)


class KnowledgeTool(KnowledgeSearch):
    """A search; the least similarity is an option of the call."""

    effect = CallEffect.READ

    def __init__(self, spec: ToolSpec, passages: PassageSource, min_similarity: float | None) -> None:
        """`min_similarity` is used where the call names none."""
        self.spec = spec
        self._passages, self._least = passages, min_similarity

    async def run(self, call: ToolInvocation) -> Any:
        """Result of `PassageSource.find`. Raises Invalid: nothing is asked, or by no agent; Unavailable: no search."""
        query = str(call.arguments.get("query") or "").strip()
        if not query:
            raise Invalid("the query is empty")
        if call.agent is None:
            raise Invalid("documents are linked to agents, and no agent asks")
        limit = int(call.arguments.get("top_k") or 5)
        least = call.arguments.get("min_similarity")
        least = self._least if least is None else float(least)
        return await self._passages.find(call.scope, call.agent, query, min(limit, MOST), least)


def build(manifest: Manifest, ground: SkillDependencies) -> KnowledgeTool:
    """See `Build`."""
    return KnowledgeTool(manifest.spec, ground.passages, options_of(manifest, KnowledgeOptions).min_similarity)
