"""One message to one receiver: where it may go, how it is written and signed, and what its answer means."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from cluster.basics.addresses import Resolve
from cluster.basics.errors import AosError, Forbidden, Invalid
from cluster.basics.retry_after import asked_seconds
from cluster.state.webhooks.deliveries import Attempt, OutgoingEvent
from cluster.state.webhooks.message_signature import signed_headers
from configs.sections_events import WebhookSettings
from skills.http_client.fetch import GuardedHttpClient, HttpReply, OutboundRequest
from skills.http_client.guard import AddressNotAllowed, RequestTarget, check_addresses, parse_target, url_host

MOST_BYTES: Final = 64_000  # of an answer, of which nobody reads more than its status
GONE: Final = 410
ANY_HOST: Final = "*"


class ReceiverNotAllowed(Forbidden):
    """Events may not be sent to this address."""

    code = "receiver_not_allowed"
    fix = "Use https and a public host, or let an administrator add host:port to AOS_WEBHOOKS_HOSTS."


class WebhookClient:
    """Sends to receivers that are allowed, each message once a call, without following redirects."""

    def __init__(self, settings: WebhookSettings, find: Resolve) -> None:
        """`find` resolves names of hosts."""
        self._settings, self._find = settings, find

    def check_url(self, url: str) -> RequestTarget:
        """Where it leads. Raises ReceiverNotAllowed, Invalid: events may not be sent there, or it is no URL."""
        hosts = self._settings.hosts
        try:
            target = parse_target(url, self._allowed(url))
        except AddressNotAllowed as error:
            raise ReceiverNotAllowed(error.detail) from error
        if "#" in url:
            raise Invalid("a receiver's URL has no fragment")
        if target.scheme != "https" and not target.named:
            raise ReceiverNotAllowed(f"{target.host} is reached over http, and is not named with its port in {hosts}")
        return target

    async def check_reachable(self, url: str) -> str:
        """The host, as its name leads to addresses that may be asked. Raises as `check_url`, and Unavailable."""
        target = self.check_url(url)
        try:
            check_addresses(await self._find(target.host, target.port), target)
        except AddressNotAllowed as error:
            raise ReceiverNotAllowed(error.detail) from error
        return target.host

    async def send(self, url: str, keys: Sequence[str], event: OutgoingEvent, now: datetime) -> Attempt:
        """One attempt. A 2xx is an acceptance, whatever stands in the answer."""
        body = message_body(event)
        headers = {"Content-Type": "application/json"}
        signed = signed_headers(keys, f"evt_{event.event}", int(now.timestamp()), body)
        try:
            self.check_url(url)
            way = GuardedHttpClient(self._allowed(url), self._find, self._settings.seconds, MOST_BYTES)
            reply = await way.send(OutboundRequest(url, "POST", headers, signed, body, reads=False))
        except AosError as error:  # refused, redirected, away, too slow: each is tried again, as it may be mended
            return Attempt(event, f"{error.code}: {error.detail or error.title}")
        return _judge(event, reply, datetime.now(UTC))

    def _allowed(self, url: str) -> Sequence[str]:
        """The hosts of the settings; with `*` also the URL's own, whose addresses have to be public then."""
        hosts = [host for host in self._settings.hosts if host != ANY_HOST]
        return [*hosts, url_host(url)] if ANY_HOST in self._settings.hosts else hosts


def message_body(event: OutgoingEvent) -> bytes:
    """As Standard Webhooks write it: type, timestamp, data."""
    at = event.at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    message: Mapping[str, Any] = {"type": event.topic, "timestamp": at, "data": event.payload}
    return json.dumps(message, separators=(",", ":"), sort_keys=True).encode()


def _judge(event: OutgoingEvent, reply: HttpReply, now: datetime) -> Attempt:
    if reply.unread and "location" in reply.headers:  # the client reports a 303 as done: here it is a redirect
        return Attempt(event, "redirected: the receiver answers with a redirect", 303)
    if 200 <= reply.status < 300:
        return Attempt(event, status=reply.status)
    wait = asked_seconds(reply.headers.get("retry-after"), now) or 0.0  # whoever waits bounds it
    return Attempt(event, f"the receiver answers {reply.status}", reply.status, wait)
