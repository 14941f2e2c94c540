"""Settings of sources that are synchronised."""

from pydantic import Field

from configs.section import Section


class SourceSettings(Section):
    """Where sources may lie, and how much one may hold.

    `allow`: addresses that are not public and that endpoints of sources may have all the same: `host`, `host:port`, or
    a network such as `10.1.0.0/16`. `most_items`: of one source; a listing with more fails, and is never cut.
    """

    allow: tuple[str, ...] = ()
    most_items: int = Field(500_000, ge=1)
