"""Trials of sources: what one answers, and what its first sync would bring; nothing is stored, no document is read."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from pipelines.documents.sources.item_rights import ReaderRules
from pipelines.documents.sources.source_port import ItemRights, Source, SourceItem
from pipelines.documents.sync.rights_summary import RightsSummary, summarize_rights
from pipelines.documents.sync.source_opener import SourceOpener

TRIAL_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 20.0  # at all items of a source that is not defined yet
LOOKED_AT: Final = 20_000  # items; a dry run of a source that is defined lists all of them, as a job
SHOWN: Final = 10
KINDS: Final = 12


@dataclass(frozen=True, slots=True)
class SourceTrial:
    """Some of its items, and what it could not list; `more`: there are others."""

    paths: tuple[str, ...]
    more: bool
    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourcePreview:
    """What a first sync would bring.

    Attributes:
        items: how many were listed.
        more: there are others; the look ended before.
        bytes: of those whose listing tells their size, `unsized` of which tell none.
        endings: items by the ending of their names, most first.
    """

    items: int
    more: bool
    bytes: int
    unsized: int
    endings: Mapping[str, int]
    paths: tuple[str, ...]
    faults: tuple[str, ...]
    rights: RightsSummary


class SourceTrials:
    """Opens a source for one look."""

    def __init__(
        self, opener: SourceOpener, seconds: float = TRIAL_SECONDS, look_seconds: float = LOOK_SECONDS
    ) -> None:
        """`look_seconds` is how long a preview lists; it then says what it has seen."""
        self._opener, self._seconds, self._look_seconds = opener, seconds, look_seconds

    async def check(self, scope: Scope, kind: str, settings: Mapping[str, Any], credential: str | None) -> None:
        """Open it and close it. Raises what `SourceOpener.open` does, and Unavailable."""
        async with self._opened(scope, kind, settings, credential):
            pass

    async def test(self, scope: Scope, kind: str, settings: Mapping[str, Any], credential: str | None) -> SourceTrial:
        """Its first items. Raises what `SourceOpener.open` does, and Unavailable."""
        paths: list[str] = []
        faults: list[str] = []
        answered = is_cut = False
        async with self._opened(scope, kind, settings, credential) as opened:
            try:
                async with asyncio.timeout(self._seconds):
                    async for page in opened.list_changes(None):
                        answered = True
                        paths += [item.path for item in page.items]
                        faults += [f"{one.path}: {one.why}" for one in page.faults]
                        if len(paths) > SHOWN:
                            break
            except TimeoutError as error:
                if not answered:
                    raise _no_answer(self._seconds) from error
                is_cut = True  # one that takes its time, such as a site that is asked politely: what came is shown
        return SourceTrial(tuple(paths[:SHOWN]), is_cut or len(paths) > SHOWN, tuple(faults[:SHOWN]))

    async def preview(
        self, scope: Scope, kind: str, settings: Mapping[str, Any], credential: str | None, rules: ReaderRules
    ) -> SourcePreview:
        """What its first sync would bring, as far as that is seen in time. Raises as `test` does."""
        items: dict[str, SourceItem] = {}
        faults: list[str] = []
        more = False
        async with self._opened(scope, kind, settings, credential) as opened:
            try:
                async with asyncio.timeout(self._look_seconds):
                    async for page in opened.list_changes(None):
                        items |= {item.id: item for item in page.items}
                        faults += [f"{one.path}: {one.why}" for one in page.faults]
                        if more := len(items) > LOOKED_AT:
                            break
            except TimeoutError as error:
                if not items:
                    raise _no_answer(self._look_seconds) from error
                more = True
        return _summarize(list(items.values())[:LOOKED_AT], more, faults, rules)

    @asynccontextmanager
    async def _opened(
        self, scope: Scope, kind: str, settings: Mapping[str, Any], credential: str | None
    ) -> AsyncIterator[Source]:
        async with self._within(self._seconds):
            opened = await self._opener.open(scope, kind, settings, credential)
        try:
            yield opened
        finally:
            await opened.close()

    @asynccontextmanager
    async def _within(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise _no_answer(seconds) from error


def _no_answer(seconds: float) -> Unavailable:
    return Unavailable(f"the source did not answer within {seconds:g} s")


def _summarize(items: list[SourceItem], more: bool, faults: list[str], rules: ReaderRules) -> SourcePreview:
    endings = Counter(PurePosixPath(item.path).suffix.lower() or "none" for item in items)
    rights = Counter[ItemRights | None](item.rights for item in items)
    return SourcePreview(
        items=len(items),
        more=more,
        bytes=sum(item.size or 0 for item in items),
        unsized=sum(item.size is None for item in items),
        endings=dict(endings.most_common(KINDS)),
        paths=tuple(item.path for item in items[:SHOWN]),
        faults=tuple(faults[:SHOWN]),
        rights=summarize_rights(rights.items(), rules),
    )
