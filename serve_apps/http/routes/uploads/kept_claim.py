"""The claim to put an upload together, renewed for as long as that takes: storage may be slow at any step."""

import asyncio
import logging
from types import TracebackType
from typing import Self

from cluster.basics.errors import AosError
from cluster.state.identity.identity import WorkspaceMember
from pipelines.documents.store.uploads.upload_sessions import ClaimLost, UploadClaim, UploadSession
from serve_apps.http.deps import AppDependencies

log = logging.getLogger("aos.uploads")


class KeptClaim:
    """A claim that a task renews while the block runs; a database that does not answer is asked again."""

    def __init__(self, parts: AppDependencies, me: WorkspaceMember, session: UploadSession, held: UploadClaim) -> None:
        """`held` has just been made."""
        self.held = held
        self._parts, self._me, self._session = parts, me, session
        self._lost: ClaimLost | None = None
        self._renewing: asyncio.Task[None] | None = None

    def require_kept(self) -> None:
        """Raises ClaimLost: somebody else puts the upload together by now."""
        if self._lost is not None:
            raise self._lost

    async def __aenter__(self) -> Self:
        """From now on it is renewed."""
        self._renewing = asyncio.create_task(self._keep_renewing())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It is not renewed any more."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.wait([self._renewing])

    async def _keep_renewing(self) -> None:
        while True:
            await asyncio.sleep(self._parts.uploads.renew_seconds)
            try:
                await self._parts.upload_sessions.renew(
                    self._me.scope, self._session.id, self.held, self._parts.clock()
                )
            except ClaimLost as error:
                self._lost = error
                return
            except AosError as error:
                log.warning("uploads: the claim on %s was not renewed: %s", self._session.id, error)
