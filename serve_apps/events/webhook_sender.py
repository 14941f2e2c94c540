"""The sender of webhooks: each receiver gets what it lacks, from one process at a time, in order of each subject."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.db.postgres import Row
from cluster.state.identity.identity import IdentityStore, WorkspaceMember, least_role
from cluster.state.vault import UnopenableSecret
from cluster.state.webhooks.deliveries import Attempt, OutgoingEvent, WebhookDeliveries, WebhookLease
from cluster.state.webhooks.topics import PING
from cluster.state.webhooks.webhook_store import WebhookStore
from cluster.state.work.lease import Heartbeat, LeaseSweep
from cluster.state.work.work_bell import WEBHOOKS, WorkBell
from configs.sections_events import WebhookSettings
from serve_apps.events.webhook_client import GONE, WebhookClient

_log = logging.getLogger("aos.webhooks")

ROUNDS = 50  # of one receiver before the others get on
RECEIVERS = 8  # at a time in one process
PRUNE_SECONDS = 3600.0


class WebhookSender:
    """Runs in every replica of the gateway; leases decide which sends what."""

    def __init__(
        self,
        store: WebhookStore,
        deliveries: WebhookDeliveries,
        identity: IdentityStore,
        client: WebhookClient,
        settings: WebhookSettings,
        *,
        owner: str,
        clock: Callable[[], float] = time.monotonic,
        bell: WorkBell | None = None,
    ) -> None:
        """`owner` of leases, for people. `bell`: rings where something is to be sent. Nothing runs before `open`."""
        self.store, self.client, self.settings = store, client, settings
        self._deliveries, self._identity = deliveries, identity
        self._owner, self._clock = owner, clock
        # Longer than an attempt may take: who has lost the lease must not send any more.
        self._lease_seconds = max(60.0, 2 * settings.seconds)
        told = None if bell is None else (bell, WEBHOOKS, settings.sweep_seconds)
        self._sweep = LeaseSweep(self._claim, self._serve, RECEIVERS, lambda: settings.poll_seconds, told)
        self._prune_at = clock()

    async def open(self) -> None:
        """Begin to send."""
        self._sweep.open()

    async def close(self) -> None:
        """End; messages on their way are waited for."""
        await self._sweep.close()

    def check(self) -> None:
        """Raises Unavailable where nobody sends any more in this process, with the reason."""
        self._sweep.require_running("webhooks are not sent")

    def wake(self) -> None:
        """Look now: something is to be sent."""
        self._sweep.wake()

    async def ping(self, scope: Scope, webhook: Row) -> Attempt:
        """Send a test message now, once; it is no event and leaves nothing behind."""
        data = {"webhook_id": str(webhook["id"]), "name": webhook["name"]}
        event = OutgoingEvent(0, str(uuid4()), PING, data, datetime.now(UTC), 0)
        keys = await self.store.secrets(scope, str(webhook["id"]))
        return await self.client.send(webhook["url"], keys, event, datetime.now(UTC))

    async def _claim(self, most: int) -> Sequence[WebhookLease]:
        if self._clock() >= self._prune_at:
            self._prune_at = self._clock() + PRUNE_SECONDS
            await self._deliveries.prune(self.settings.keep_days)
        return await self._deliveries.claim(self._owner, self._lease_seconds, most)

    async def _serve(self, lease: WebhookLease, stop: asyncio.Event) -> None:
        """Send what one receiver lacks, for as long as the lease holds."""
        heartbeat = Heartbeat(self._deliveries.heartbeat, lease, self._lease_seconds, self._lease_seconds / 4)
        sending = self._send_rounds(lease, stop, heartbeat)  # a round on its way is not cut off
        await heartbeat.run_and_release(sending, asyncio.Event(), self._deliveries.release)

    async def _send_rounds(self, lease: WebhookLease, stop: asyncio.Event, heartbeat: Heartbeat[WebhookLease]) -> None:
        for _ in range(ROUNDS):
            if stop.is_set() or heartbeat.over:
                return
            webhook = await self._deliveries.webhook(lease)
            if not webhook["enabled"] or webhook["resting"]:
                return
            member = await self._owner_of(lease, webhook)
            if member is None:
                await self._deliveries.refuse(lease, "its owner may not use this workspace any more", self.settings)
                return
            # A receiver that failed is asked with one message, and not with all that waits.
            most = 1 if webhook["failures"] else self.settings.at_once
            events = await self._deliveries.heads(lease, seen_as(member, webhook["role"]), most)
            if not events:
                return
            keys = await self._keys(lease, webhook)
            if keys is None:
                return
            if not await self._send_round(lease, webhook["url"], keys, events):
                return

    async def _send_round(
        self, lease: WebhookLease, url: str, keys: Sequence[str], events: Sequence[OutgoingEvent]
    ) -> bool:
        """Send them at the same time, and record what came of it at once; False where the receiver wants no more.

        Where one of them meets an error that no attempt has, it is raised after the others were recorded.
        """
        now = datetime.now(UTC)
        sending = (self.client.send(url, keys, event, now) for event in events)
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        attempts = [one for one in outcomes if isinstance(one, Attempt)]
        await self._deliveries.record(lease, attempts, self.settings)
        for one in attempts:
            if not one.accepted:
                _log.info("webhook %s: %s %s: %s", lease.id, one.event.topic, one.event.event, one.error)
        if gone := any(one.status == GONE for one in attempts):
            await self._deliveries.disable(lease, "the receiver answers 410: it wants no more events")
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return not gone

    async def _keys(self, lease: WebhookLease, webhook: Row) -> list[str] | None:
        try:
            return await self.store.secrets(lease.scope, str(webhook["id"]))
        except UnopenableSecret as error:
            await self._deliveries.refuse(lease, f"{error.code}: {error.detail}", self.settings)
            return None

    async def _owner_of(self, lease: WebhookLease, webhook: Row) -> WorkspaceMember | None:
        tenant, workspace = TenantId(lease.scope.tenant), WorkspaceId(lease.scope.workspace)
        return await self._identity.member(tenant, UserId(str(webhook["owner_id"])), workspace)


def seen_as(member: WorkspaceMember, role: str | None) -> Scope:
    """What a webhook may see: what its owner may now, or a member with nothing but a role that is not above theirs."""
    scope = member.scope
    if role is None:
        return scope
    least = least_role(member.role, Role(role))
    return replace(scope, principals=(f"role:{least}",), role=least)
