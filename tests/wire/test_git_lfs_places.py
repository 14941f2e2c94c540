"""Where an LFS server leads: a place that is forbidden or away is a fault of one item."""

import pytest

from cluster.basics.errors import Permanent, Transient, Unavailable
from pipelines.documents.sources.repositories.git_lfs import LfsPointer, LfsServer
from pipelines.documents.sources.source_port import SourceAway, SourceDependencies, SourceRefused
from pipelines.documents.sync.source_opener import EndpointRefused


@pytest.mark.parametrize(
    ("raised", "told"), [(EndpointRefused("not there"), SourceRefused), (Unavailable("no address"), SourceAway)]
)
async def test_a_place_that_may_not_or_cannot_be_reached_is_the_items_fault(
    raised: Exception, told: type[Permanent | Transient]
) -> None:
    async def check(url: str) -> str:
        raise raised

    server = LfsServer("https://git.example/a.git", SourceDependencies(None, check))
    with pytest.raises(told, match=r"big\.bin"):
        async for _ in server.read(LfsPointer("0" * 64, 1), "big.bin"):
            pass
