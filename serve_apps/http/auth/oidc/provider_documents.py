"""Documents of an OpenID provider, fetched over HTTP: JSON of a bounded size, and the public keys in one of them."""

import asyncio
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet

from cluster.basics.bounded_answers import AnswerRefused, read_bounded
from cluster.basics.errors import Transient

log = logging.getLogger("aos.auth")

MOST_BYTES = 1 << 20


class DocumentUnreadable(Transient):
    """A document of the provider cannot be read."""

    code = "document_unreadable"


@dataclass(frozen=True, slots=True)
class ProviderDocument:
    """A JSON object, and what time it was by the clock of whoever gave it; None where they do not say."""

    body: Mapping[str, Any]
    date: datetime | None


async def fetch_document(
    url: str, options: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> ProviderDocument:
    """`options` are those of httpx2's client. Raises DocumentUnreadable: with the reason, which has no secret in it."""
    try:
        async with (
            asyncio.timeout(options.get("timeout")),  # the client's own is for each read
            httpx2.AsyncClient(**options) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            answer.raise_for_status()
            found = json.loads(await read_bounded(answer, "the provider", MOST_BYTES))
    except (AnswerRefused, httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, RecursionError) as error:
        raise DocumentUnreadable(f"{type(error).__name__}: {error}") from error
    if not isinstance(found, dict):
        raise DocumentUnreadable("no JSON object")
    return ProviderDocument(found, _moment(answer.headers.get("date", "")))


def signing_keys(found: Mapping[str, Any]) -> KeySet:
    """The public keys for signatures; of a kind that is not known here, or meant for something else, none."""
    keys = []
    listed = found.get("keys")
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict) or one.get("kty") == "oct" or one.get("use", "sig") != "sig":
            continue
        try:
            keys.append(JWKRegistry.import_key(one))
        except (JoseError, ValueError, TypeError) as error:
            log.info("a key of the provider is not used: %s", type(error).__name__)
    return KeySet(keys)


def _moment(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
