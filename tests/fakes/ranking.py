"""Two rankings fused as the search fuses them."""

from collections.abc import Sequence

from serve_apps.retrieval.search.fuse import FuseBy, FusionWeights, RankedChunk, RankFusion
from serve_apps.retrieval.search.query import Candidate


def fuse_rankings(
    keyword: Sequence[RankedChunk],
    vector: Sequence[RankedChunk],
    weights: FusionWeights,
    k: int = 60,
    by: FuseBy = "rank",
) -> list[Candidate]:
    """Two legs as one list; see `RankFusion`."""
    fusion = RankFusion(k, by)
    fusion.add("keyword", weights.keyword, keyword)
    fusion.add("vector", weights.vector, vector)
    return fusion.ranked()
