"""Which embedder may be asked for an index: the one that made it, or none."""

import pytest

from cluster.basics.errors import Unavailable
from cluster.models.ports import EmbedderFacts
from cluster.models.succession import Make, OtherEmbedder, each, in_succession, making
from tests.fakes.models import DIMENSION, FakeEmbedder

NOW, BEFORE = FakeEmbedder(fingerprint="now"), FakeEmbedder(fingerprint="before")
BOTH = in_succession(NOW, BEFORE)


class Gone(FakeEmbedder):
    async def facts(self) -> EmbedderFacts:
        raise Unavailable("gone")


def made(fingerprint: str, name: str = "fake", dimension: int = DIMENSION) -> Make:
    return Make(name, dimension, fingerprint)


async def test_an_index_is_asked_with_what_made_it() -> None:
    """EM-08: whatever it is called, and of an index that is too old to know more, by its name."""
    assert await making(BOTH, made("now")) is NOW
    assert await making(BOTH, made("before", name="moved to another folder")) is BEFORE
    assert await making(BOTH, made("")) is NOW
    assert (await BOTH.facts()).fingerprint == "now"
    await BOTH.embed(["pump"])
    assert NOW.asked and not BEFORE.asked, "what is new is made with the embedder of now"


@pytest.mark.parametrize("wanted", [made("else"), made("", name="else"), made("now", dimension=3)])
async def test_what_nobody_there_made_is_asked_with_nothing(wanted: Make) -> None:
    with pytest.raises(OtherEmbedder, match="not with fake or fake") as refused:
        await making(BOTH, wanted)
    assert "EMBEDDING_FORMER_MODEL" in refused.value.hint
    with pytest.raises(OtherEmbedder, match=r"not with fake$"):
        await making(NOW, wanted)


async def test_one_that_is_away_hides_nothing() -> None:
    """The other one answers for its own index; for anything else it is not said that nobody made it."""
    assert await making(in_succession(Gone(), BEFORE), made("before")) is BEFORE
    assert await making(in_succession(NOW, Gone()), made("now")) is NOW
    with pytest.raises(Unavailable, match="gone"):
        await making(in_succession(NOW, Gone()), made("before"))


async def test_a_change_reaches_both() -> None:
    other = FakeEmbedder(fingerprint="changed")
    changed = each(BOTH, lambda one: other if one is BEFORE else one)
    assert await making(changed, made("changed")) is other and await making(changed, made("now")) is NOW
    assert each(NOW, lambda _: other) is other
