"""Composio's REST API, version 3: tools of a connected account are run, and its key stays with its own host."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.documents.sources.checked_http import checked_client, origin_of, shown_url
from pipelines.documents.sources.cloud.cloud_answers import part_of
from pipelines.documents.sources.cloud.cloud_client import TIMEOUT, CloudClient, CursorExpired
from pipelines.documents.sources.cloud.cloud_tokens import is_sendable
from pipelines.documents.sources.source_port import (
    ItemGone,
    SourceAway,
    SourceDependencies,
    SourceInvalid,
    SourceOpening,
    SourceRefused,
)

PUBLIC_BASE: Final = "https://backend.composio.dev/api/v3"
WHO: Final = "Composio"
_KEY_FIELDS: Final = ("api_key", "token")
_TOLD: Final = 200  # characters of an error that are shown
_BUSY: Final = re.compile(r"\b(429|50[0234])\b|rate.?limit|too many requests|timed? ?out", re.IGNORECASE)
_UNSHOWN: Final = re.compile(r"[\x00-\x1f\x7f]+|https?://\S+")


@dataclass(frozen=True, slots=True)
class ComposioKey:
    """Composio's key, in the header where it belongs; an empty one is for hosts that must not be given any."""

    key: str = field(default="", repr=False)

    async def headers(self) -> Mapping[str, str]:
        """See `CloudKeys`."""
        return {"x-api-key": self.key} if self.key else {}

    def is_renewable(self) -> bool:
        """Never: people make another one."""
        return False


@dataclass(frozen=True, slots=True)
class ComposioAccount:
    """For whom tools run.

    Attributes:
        id: of the connected account.
        user: whose account it is in Composio's words, where it asks for that.
        version: of the tools.
    """

    id: str
    user: str = ""
    version: str = "latest"


class ComposioClient:
    """Raises SourceRefused and SourceAway, and nothing else that is of the network."""

    def __init__(
        self, api: CloudClient, dependencies: SourceDependencies, base: str, account: ComposioAccount, key: str
    ) -> None:
        """`api` sends the key; `base` is its URL."""
        self._api, self._dependencies, self._base, self._account, self._key = api, dependencies, base, account, key
        self._files = checked_client(dependencies, timeout=TIMEOUT)  # no connection of the key's is used for others

    async def execute(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its data. Raises ValueError: the answer is none of Composio's."""
        body = {"connected_account_id": self._account.id, "arguments": dict(arguments)}
        body |= {"user_id": self._account.user} if self._account.user else {}
        body |= {"version": self._account.version} if self._account.version else {}
        try:
            found = await self._api.post(f"tools/execute/{tool}", body)
        except (ItemGone, CursorExpired) as error:  # of the tool or the account, and of no file
            raise SourceRefused(f"{WHO} knows no such tool or connected account: {tool}") from error
        successful = found.get("successful")
        if not isinstance(successful, bool):
            raise ValueError("it does not say whether the tool was successful")
        if not successful:
            raise self._error_of(tool, found)
        data = part_of(found, "data")
        return part_of(data, "response_data") or data

    async def fetch(self, url: str, start: int, length: int | None) -> AsyncIterator[bytes]:
        """Bytes from where an answer leads: any host that may be connected to, which is not given the key."""
        if not origin_of(url):
            raise SourceRefused("an answer leads to what is no URL of http or https")
        if self._base.startswith("https://") and not url.startswith("https://"):
            raise SourceRefused("an answer leads to a place without TLS")
        host = CloudClient(self._files, origin_of(url), ComposioKey(), self._dependencies.check_endpoint)
        try:
            async for block in host.read(url, start, length):
                yield block
        except ItemGone as error:  # links end after a while; the file need not
            raise SourceRefused(f"the link of an answer leads nowhere: {shown_url(url)}") from error

    async def close(self) -> None:
        """Close connections."""
        try:
            await self._api.close()
        finally:
            await self._files.aclose()

    def _error_of(self, tool: str, found: Mapping[str, Any]) -> SourceAway | SourceRefused:
        """By the error's words: Composio answers 200 also where a cloud is busy."""
        told = str(found.get("error") or "no reason is told")
        shown = _UNSHOWN.sub(" ", told.replace(self._key, "…"))[:_TOLD].strip()
        kind = SourceAway if _BUSY.search(told) else SourceRefused
        return kind(f"{WHO} could not run {tool}: {shown}")


async def open_composio(opening: SourceOpening, dependencies: SourceDependencies) -> ComposioClient:
    """Raises SourceInvalid: no server is named, or the credential has no key; and what its check raises."""
    settings = opening.settings
    base = str(settings.get("endpoint") or "")
    if settings.get("public", "no") not in ("yes", "no"):
        raise SourceInvalid("public is yes or no")
    if not base and settings.get("public") != "yes":
        raise SourceInvalid(
            "neither endpoint nor public is set",
            fix=f"Name your server's endpoint, or set public=yes: names and files then pass through {PUBLIC_BASE}.",
        )
    base = base or PUBLIC_BASE
    key = next((opening.secret[name] for name in _KEY_FIELDS if opening.secret.get(name)), "")
    if not key or not is_sendable(key):
        raise SourceInvalid(
            "the credential has no api_key that can be sent", fix="Store one of type custom: aos credentials add."
        )
    await dependencies.check_endpoint(base)
    http = checked_client(dependencies, timeout=TIMEOUT)
    account = ComposioAccount(
        str(settings["account"]), str(settings.get("user") or ""), str(settings.get("version") or "latest")
    )
    return ComposioClient(
        CloudClient(http, base, ComposioKey(key), dependencies.check_endpoint), dependencies, base, account, key
    )
