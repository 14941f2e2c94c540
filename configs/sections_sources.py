"""Settings of sources that are synchronised."""

from pydantic import Field

from configs.section import Section


class SourceSettings(Section):
    """Where sources may lie, and how much one may hold.

    `allow`: addresses that are not public and that endpoints of sources may have all the same: `host`, `host:port`, or
    a network such as `10.1.0.0/16`. `most_items`: of one source; a listing with more fails, and is never cut.
    `cache_bytes`: of copies below `state_dir` that sources can fetch again. `git_pack_bytes`: of what one fetch of a
    repository may bring. `web_rate`: requests a second that a crawl may ask a site for; without a word it asks for 2.
    """

    allow: tuple[str, ...] = ()
    most_items: int = Field(500_000, ge=1)
    cache_bytes: int = Field(5 * 2**30, ge=1)
    git_pack_bytes: int = Field(2**30, ge=1)
    web_rate: float = Field(10, gt=0, le=1000)
