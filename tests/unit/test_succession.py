"""Which embedder may be asked for an index: the one that made it, or none."""

import pytest
from pydantic import ValidationError

from cluster.basics.errors import AosError, Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import (
    EmbedderMoved,
    OtherEmbedder,
    VectorSpace,
    map_embedders,
    pair_embedders,
    select_embedder,
)
from cluster.models.model_errors import Unusable
from cluster.models.ports import EmbedderFacts, EmbeddingLane
from configs.sections import ChunkSettings
from configs.sections_retrieval import EmbeddingSettings
from pipelines.documents.document import Page, VersionId
from pipelines.documents.index.chunk_and_embed import VersionIndexer
from pipelines.documents.store.chunk_strategies import ChosenStrategies
from tests.fakes.models import DIMENSION, FakeEmbedder, MovingEmbedder

NOW, BEFORE = FakeEmbedder(fingerprint="now"), FakeEmbedder(fingerprint="before")
BOTH = pair_embedders(NOW, BEFORE)
SCOPE = Scope(TenantId("t"), WorkspaceId("w"))


class Gone(FakeEmbedder):
    async def facts(self) -> EmbedderFacts:
        raise self.failing or Unavailable("gone")


def made(fingerprint: str, name: str = "fake", dimension: int = DIMENSION) -> VectorSpace:
    return VectorSpace(name, dimension, fingerprint)


async def test_an_index_is_asked_with_what_made_it() -> None:
    """EM-08: whatever it is called, and of an index that is too old to know more, by its name."""
    assert await select_embedder(BOTH, made("now")) is NOW
    assert await select_embedder(BOTH, made("before", name="moved to another folder")) is BEFORE
    assert await select_embedder(BOTH, made("")) is NOW
    assert (await BOTH.facts()).fingerprint == "now"
    await BOTH.embed(["pump"])
    assert NOW.asked and not BEFORE.asked, "what is new is made with the embedder of now"


@pytest.mark.parametrize("wanted", [made("else"), made("", name="else"), made("now", dimension=3)])
async def test_what_nobody_there_made_is_asked_with_nothing(wanted: VectorSpace) -> None:
    with pytest.raises(OtherEmbedder, match="not with fake or fake") as refused:
        await select_embedder(BOTH, wanted)
    assert "EMBEDDING_FORMER_MODEL" in refused.value.hint
    with pytest.raises(OtherEmbedder, match=r"not with fake$"):
        await select_embedder(NOW, wanted)


@pytest.mark.parametrize("why", [Unavailable("gone"), Unusable("gone: its key is refused")])
async def test_one_that_is_away_hides_nothing(why: AosError) -> None:
    """The other one answers for its own index; for anything else it is not said that nobody made it."""
    assert await select_embedder(pair_embedders(Gone(why), BEFORE), made("before")) is BEFORE
    assert await select_embedder(pair_embedders(NOW, Gone(why)), made("now")) is NOW
    with pytest.raises(type(why), match="gone"):
        await select_embedder(pair_embedders(NOW, Gone(why)), made("before"))


async def test_what_was_chosen_for_an_index_makes_no_vectors_with_another_model() -> None:
    """X-04: its replicas may be updated between the choice and the call."""
    moving = MovingEmbedder(NOW, BEFORE)
    for one in (moving, pair_embedders(moving, FakeEmbedder(fingerprint="else"))):
        moving.now = NOW
        chosen = await select_embedder(one, made("now"))
        assert (await chosen.embed(["pump"])).shape == (1, DIMENSION)
        moving.move()
        for _ in range(2):
            with pytest.raises(EmbedderMoved):
                await chosen.embed(["pump"])
        assert (await chosen.facts()).fingerprint == "now" and (await one.facts()).fingerprint == "before"


class Pages:
    async def chunk_strategies(self, scope: Scope, version: VersionId) -> ChosenStrategies:
        return ChosenStrategies()

    async def load_pages(self, scope: Scope, version: VersionId) -> tuple[list[Page], int]:
        return [Page(1, "The pump is red.")], 1


async def test_what_is_indexed_has_the_prefix_of_passages() -> None:
    """EM-01: E5 and its like were trained with one."""
    embedder = FakeEmbedder(prefixes=("query: ", "passage: "))
    indexer = VersionIndexer(Pages(), embedder, ChunkSettings(), EmbeddingLane.BULK)  # type: ignore[arg-type]
    await indexer.index(SCOPE, [VersionId("v")])
    assert embedder.asked == [(EmbeddingLane.BULK, ["passage: The pump is red."])]


async def test_what_is_indexed_says_which_model_made_it() -> None:
    """X-04: a model that moves between its facts and its vectors is asked again, by its new name."""

    async def at_once(seconds: float) -> None: ...

    for first, name in ((False, "now"), (True, "before")):
        indexer = VersionIndexer(
            Pages(),
            MovingEmbedder(NOW, BEFORE, at_once=first),
            ChunkSettings(),
            EmbeddingLane.BULK,
            sleep=at_once,  # type: ignore[arg-type]
        )
        (indexed,) = await indexer.index(SCOPE, [VersionId("v")])
        assert indexed.made == name and indexed.vectors is not None


def test_two_models_that_nobody_could_tell_apart_are_refused() -> None:
    """EM-08: servers' models are known by their names, those here by their folders."""
    with pytest.raises(ValidationError, match="tell their vectors apart"):
        EmbeddingSettings(model="m", base_url="http://a/v1", former_model="m", former_base_url="http://b/v1")
    with pytest.raises(ValidationError, match="tell their vectors apart"):
        EmbeddingSettings(former_model="packaged")
    former = EmbeddingSettings(model="m", base_url="http://a/v1", api_key="k", former_model="m").of_former()
    assert former is not None and (former.model, former.base_url, former.api_key) == ("m", None, None)


def test_the_former_model_has_prefixes_of_its_own() -> None:
    settings = EmbeddingSettings(model="e5", query_prefix="query: ", former_model="m", former_passage_prefix="text: ")
    former = settings.of_former()
    assert former is not None and (former.query_prefix, former.passage_prefix) == ("", "text: ")


async def test_a_change_reaches_both() -> None:
    other = FakeEmbedder(fingerprint="changed")
    changed = map_embedders(BOTH, lambda one: other if one is BEFORE else one)
    assert (
        await select_embedder(changed, made("changed")) is other and await select_embedder(changed, made("now")) is NOW
    )
    assert map_embedders(NOW, lambda _: other) is other
