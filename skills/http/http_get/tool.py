"""`http_get`: reads a text from an allowed address, and sends nothing but the address."""

from collections.abc import Sequence
from typing import Any

from cluster.basics.addresses import Resolve, resolve_host
from cluster.models.messages import ToolSpec
from skills.framework.contract import CallEffect, ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import Manifest
from skills.http_client.fetch import GuardedHttpClient, OutboundRequest

SECONDS = 20.0  # for all of it, redirects too
MOST_BYTES = 1_000_000
MOST_CHARACTERS = 100_000  # that are given


class HttpGet:
    """GET of a text; nothing is sent but the address."""

    effect = CallEffect.READ

    def __init__(
        self, spec: ToolSpec, allowed: Sequence[str], find: Resolve = resolve_host, seconds: float = SECONDS
    ) -> None:
        """`allowed` as in `guard.parse_target`; an empty list allows nothing."""
        self.spec = spec
        self._way = GuardedHttpClient(tuple(allowed), find, seconds, MOST_BYTES)

    async def run(self, call: ToolInvocation) -> Any:
        """Give {url, status, content_type, text}; a status of 400 or more is a result too.

        Raises:
            AddressNotAllowed: the address, or one it redirects to, may not be read.
            Invalid: no URL, not a text, or too many redirects.
            TooLarge: more than a million bytes.
            Unavailable: no connection, or too slow.
        """
        given = await self._way.send(OutboundRequest(str(call.arguments["url"])))
        text = given.text[:MOST_CHARACTERS]
        return {"url": given.url, "status": given.status, "content_type": given.kind, "text": text}


def build(manifest: Manifest, ground: SkillDependencies) -> HttpGet:
    """See `Build`."""
    return HttpGet(manifest.spec, ground.hosts, ground.resolve)
