"""Folders of a source to choose from: asked of it once, and remembered in Redis for five minutes."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from redis.asyncio import Redis

from cluster.basics.errors import Unavailable
from cluster.basics.redis_link import RedisAway, RedisLink
from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import BrowsableSource, SourceFolder, SourceInvalid
from pipelines.documents.sync.source_opener import SourceOpener

REMEMBERED_SECONDS: Final = 300
BROWSE_SECONDS: Final = 20.0
REDIS_SECONDS: Final = 0.5
REST_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class BrowsedFolders:
    """`remembered`: the source was not asked this time."""

    folders: Sequence[SourceFolder]
    remembered: bool


class FolderBrowser:
    """Without Redis, and while it is away, the source is asked each time."""

    def __init__(self, opener: SourceOpener, redis: Redis | None) -> None:
        self._opener = opener
        self._redis = RedisLink(redis, wait=REDIS_SECONDS, rest=REST_SECONDS)

    async def browse(self, scope: Scope, source: Mapping[str, Any], parent: str | None) -> BrowsedFolders:
        """The folders right below one of a source, which is given as its row.

        Raises SourceInvalid: its kind has none to choose from; what `SourceOpener.open` does; Unavailable.
        """
        # Other settings, or another credential, are another key: what one of them sees is not another's.
        told = [str(source["id"]), source["kind"], source["settings"], source["credential"], parent]
        name = sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        key = f"aos:folders:{scope.tenant}:{scope.workspace}:{name}"
        if (kept := await self._remembered(key)) is not None:
            return BrowsedFolders(kept, remembered=True)
        found = await self._ask(scope, source, parent)
        value = json.dumps([[one.id, one.name] for one in found])
        with suppress(RedisAway):  # then it is asked again
            await self._redis.call(lambda redis: redis.set(key, value, ex=REMEMBERED_SECONDS))
        return BrowsedFolders(found, remembered=False)

    async def _ask(self, scope: Scope, source: Mapping[str, Any], parent: str | None) -> Sequence[SourceFolder]:
        try:
            async with asyncio.timeout(BROWSE_SECONDS):
                opened = await self._opener.open(scope, source["kind"], source["settings"], source["credential"])
                try:
                    if not isinstance(opened, BrowsableSource):
                        raise SourceInvalid(f"a source of kind {source['kind']} has no folders to choose from")
                    return await opened.list_folders(parent)
                finally:
                    await opened.close()
        except TimeoutError as error:
            raise Unavailable(f"the source does not list its folders within {BROWSE_SECONDS:.0f} s") from error

    async def _remembered(self, key: str) -> Sequence[SourceFolder] | None:
        try:
            kept = await self._redis.call(lambda redis: redis.get(key))
            return None if kept is None else [SourceFolder(str(id_), str(name)) for id_, name in json.loads(kept)]
        except (RedisAway, ValueError, TypeError):  # the latter two of what is no list of ours
            return None
