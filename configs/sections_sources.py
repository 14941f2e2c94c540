"""Settings of sources that are synchronised."""

from typing import Literal

from pydantic import Field

from configs.section import Section


class SourceSettings(Section):
    """Where sources may lie, and how much one may hold.

    `allow`: addresses that are not public and that endpoints of sources may have all the same: `host`, `host:port`, or
    a network such as `10.1.0.0/16`. `most_items`: of one source; a listing with more fails, and is never cut.
    `quiet_seconds`: a listing from which nothing more comes for so long is ended, and begun again later.

    `watch`: how folders are watched: `auto` asks the kernel for events and polls where a mount delivers none, `poll`
    polls everywhere, `off` leaves it to the period of each source. `watch_folders`: that one process watches at most;
    what is beyond is listed every `sweep_seconds`. `settle_seconds`: what was written less long ago is looked at twice.

    `cache_bytes`: of copies below `state_dir` that sources can fetch again. `git_pack_bytes`: of what one fetch of a
    repository may bring. `web_rate`: requests a second that a crawl may ask a site for; without a word it asks for 2.
    """

    allow: tuple[str, ...] = ()
    most_items: int = Field(500_000, ge=1)
    quiet_seconds: float = Field(3600.0, ge=1)
    watch: Literal["auto", "poll", "off"] = "auto"
    watch_folders: int = Field(20_000, ge=1)
    poll_seconds: float = Field(10.0, ge=0.1, le=3600)
    sweep_seconds: float = Field(300.0, ge=1, le=86_400)
    settle_seconds: float = Field(3.0, ge=0, le=60)
    cache_bytes: int = Field(5 * 2**30, ge=1)
    git_pack_bytes: int = Field(2**30, ge=1)
    web_rate: float = Field(10, gt=0, le=1000)
