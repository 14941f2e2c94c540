"""Classification by itself: documents that are new, or whose rules are others, are given their class soon."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from pipelines.documents.privacy.document_classes import DocumentClasses
from serve_apps.governance.tenant_turns import TenantTurns

log = logging.getLogger("aos.classification")

LOOK_SECONDS: Final = 5.0
EVERY: Final = timedelta(seconds=30)


class ClassificationProcess(TenantTurns):
    """Looks through one tenant at a time; of all replicas one takes a tenant."""

    def __init__(self, classes: DocumentClasses, clock: Callable[[], datetime]) -> None:
        """`clock` gives the moment, with a time zone."""
        super().__init__(log, LOOK_SECONDS)
        self._classes, self._clock = classes, clock

    async def turn(self) -> str | None:
        """See `TenantTurns`; a document that is not settled is looked at again."""
        tenant = await self._classes.claim(self._clock(), EVERY)
        if tenant is not None:
            await self._classes.sweep_tenant(tenant)
        return tenant
