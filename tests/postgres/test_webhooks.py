"""Webhooks: receivers that are away, slow or hostile, senders that are killed; every event once by id, in its order."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from cluster.basics.addresses import resolve_host
from cluster.basics.scope import Role
from cluster.state.db.postgres import Database
from cluster.state.rotation import rotate_keys
from cluster.state.vault import Vault, VaultKey
from cluster.state.webhooks.deliveries import Attempt, OutgoingEvent
from cluster.state.work.work_bell import WEBHOOKS
from serve_apps.events.webhook_client import WebhookClient
from tests.fakes.event_parts import webhook_sender
from tests.fakes.http import open_office
from tests.fakes.told_work import told_work
from tests.fakes.webhook_desk import WebhookDesk, until
from tests.fakes.webhook_receiver import Receiver, receiving

Record = Callable[[str, object], None]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
async def desk(app_dsn: str, admin_dsn: str, receiver: Receiver) -> AsyncIterator[WebhookDesk]:
    database = Database(app_dsn, size=10, timeout=10)
    await database.open()
    made = WebhookDesk(app_dsn, admin_dsn, database, open_office(admin_dsn), receiver)
    yield made
    await made.close()
    await database.close()


async def test_what_is_to_be_sent_is_told_and_what_was_sent_is_not(desk: WebhookDesk, app_dsn: str) -> None:
    webhook = await desk.add("job.*")
    with told_work(app_dsn) as written:
        await desk.jobs(1, states=())
    assert written.count(WEBHOOKS) == 1
    await desk.open()
    with told_work(app_dsn) as sent:
        await until(lambda: desk.states() == {"delivered": 1})
    assert WEBHOOKS not in sent
    await desk.close()
    with told_work(app_dsn) as replayed:
        assert await desk.replay(webhook, since=datetime.now(UTC) - timedelta(days=1)) == 1
    assert replayed == [WEBHOOKS]


async def test_a_receiver_that_was_away_for_a_day_has_each_event_once_and_in_order(
    desk: WebhookDesk, receiver: Receiver, record_property: Record
) -> None:
    await desk.add("job.*")
    receiver.stop()
    await desk.open()
    jobs = await desk.jobs(40)
    await until(lambda: desk.sql("select failures >= 2 and next_at > clock_timestamp() from webhooks")[0][0])
    for _ in range(20):
        failures = desk.sql("select failures from webhooks")[0][0]
        await desk.pass_time(hours=2)
        await until(lambda before=failures: desk.sql("select failures from webhooks")[0][0] > before)
    assert desk.states() == {"pending": 80}
    receiver.start()
    await desk.pass_time(hours=2)
    await until(lambda: desk.states() == {"delivered": 80})
    assert receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in jobs}
    assert len(receiver.ids) == len(set(receiver.ids)) == 80 and receiver.refused == 0
    assert desk.sql("select failures, error from webhooks") == [(0, None)]
    record_property("events lost or doubled after a day away", "0 of 80")


async def test_what_was_tried_while_a_receiver_was_away_comes_once_it_is_back_and_not_hours_later(
    desk: WebhookDesk, receiver: Receiver
) -> None:
    await desk.add("job.*")
    receiver.stop()
    await desk.open()
    jobs = await desk.jobs(3)
    await until(lambda: desk.sql("select failures >= 2 and next_at > clock_timestamp() from webhooks")[0][0])
    await desk.run("update webhook_deliveries set next_at = next_at + interval '5 hours' where attempts > 0")
    receiver.start()
    await desk.run(
        "update webhook_deliveries set next_at = clock_timestamp() where outbox_id = (select min(id) from outbox)"
    )
    await desk.run("update webhooks set next_at = clock_timestamp()")
    await until(lambda: desk.states() == {"delivered": 6})
    assert receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in jobs}


async def test_what_cannot_be_delivered_for_days_is_given_up_and_can_be_replayed(
    desk: WebhookDesk, receiver: Receiver
) -> None:
    webhook = await desk.add("job.*")
    receiver.status = 503
    await desk.open()
    await desk.jobs(5)
    await until(lambda: desk.sql("select failures from webhooks")[0][0] == 1)
    await desk.pass_time(seconds=10)
    await until(lambda: desk.sql("select failures >= 2 and next_at > clock_timestamp() from webhooks")[0][0])
    asked = receiver.asked
    await desk.pass_time(days=4)
    await until(lambda: desk.states() == {"dead": 10})
    assert receiver.asked <= asked + 2  # with the circuit open one message found out, and the others went with it
    receiver.status = 200
    (event, topic), *_ = desk.sql("select event_id::text, topic from outbox order by id")
    assert await desk.replay(webhook, event=event) == 1
    await until(lambda: receiver.ids == [f"evt_{event}"])
    assert receiver.got[0].type == topic
    since = datetime.now(UTC) - timedelta(days=5)
    assert await desk.replay(webhook, since=since, failed_only=True) == 9
    await until(lambda: desk.states() == {"delivered": 10})
    assert len(set(receiver.ids)) == len(receiver.ids) == 10
    assert set(map(tuple, receiver.by_subject("job_id").values())) == {("job.queued", "job.finished")}
    assert await desk.replay(webhook, since=datetime.now(UTC) - timedelta(days=1)) == 0
    assert await desk.replay(webhook, since=since) == 10  # those that were delivered as well, under the same ids
    await until(lambda: len(receiver.ids) == 20)
    assert Counter(receiver.ids) == dict.fromkeys(receiver.ids, 2)


async def test_a_webhook_that_was_mended_has_its_failures_forgotten_and_sends_what_was_given_up_in_order(
    desk: WebhookDesk, receiver: Receiver
) -> None:
    webhook = await desk.add("job.*")
    receiver.status = 500
    await desk.open()
    jobs = await desk.jobs(4)
    await until(lambda: desk.sql("select failures from webhooks")[0][0] == 1)
    await desk.pass_time(seconds=10)
    await until(lambda: desk.sql("select failures >= 2 and next_at > clock_timestamp() from webhooks")[0][0])
    await desk.pass_time(days=4)
    await until(lambda: desk.states() == {"dead": 8})
    assert await desk.replay(webhook, failed_only=True) == 8
    assert desk.sql("select failures < 2, failing_since > clock_timestamp() - interval '1 day' from webhooks") in (
        [(True, None)],
        [(True, True)],  # it has been tried, and failed for the first time
    )
    await until(lambda: desk.sql("select failures from webhooks")[0][0] == 1)
    assert desk.sql("select next_at <= clock_timestamp() from webhooks") == [(True,)], "one failure opens no circuit"
    receiver.status = 200
    await desk.pass_time(seconds=10)
    await until(lambda: desk.states() == {"delivered": 8})
    assert receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in jobs}


@pytest.mark.parametrize("said", ["1800", "date"])
async def test_a_receiver_that_asks_for_a_pause_is_sent_nothing_of_any_job_until_it_is_over(
    desk: WebhookDesk, receiver: Receiver, said: str
) -> None:
    await desk.add("job.queued")
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=1800), usegmt=True)
    receiver.status, receiver.headers = 429, {"Retry-After": when if said == "date" else said}
    await desk.open()
    await desk.jobs(1, ())
    await until(lambda: desk.sql("select attempts from webhook_deliveries") == [(1,)])
    ((rests, waits),) = desk.sql(
        "select extract(epoch from w.next_at - clock_timestamp())::int,"
        " extract(epoch from d.next_at - clock_timestamp())::int"
        " from webhooks w, webhook_deliveries d"
    )
    assert 1700 < rests <= 1800 and 1700 < waits <= 1800
    receiver.status, receiver.headers = 200, {}
    asked = receiver.asked
    await desk.jobs(1, ())
    await asyncio.sleep(0.5)
    assert receiver.asked == asked and desk.states() == {"pending": 2}
    await desk.pass_time(minutes=31)
    await until(lambda: desk.states() == {"delivered": 2})


async def test_a_pause_that_a_receiver_asks_for_is_bounded(desk: WebhookDesk, receiver: Receiver) -> None:
    await desk.add("job.queued")
    receiver.status, receiver.headers = 503, {"Retry-After": "99999999"}
    await desk.open()
    await desk.jobs(1, ())
    await until(lambda: desk.sql("select attempts from webhook_deliveries") == [(1,)])
    ((rests,),) = desk.sql("select extract(epoch from next_at - clock_timestamp())::int from webhooks")
    assert 3500 < rests <= 3600


class BrokenForOne(WebhookClient):
    """An error that nobody has foreseen, at the second message that is sent."""

    sent = 0

    async def send(self, url: str, keys: Sequence[str], event: OutgoingEvent, now: datetime) -> Attempt:
        self.sent += 1
        if self.sent == 2:
            raise RuntimeError("nobody has foreseen this")
        return await super().send(url, keys, event, now)


async def test_an_error_at_one_message_lets_the_others_of_its_round_be_recorded(
    desk: WebhookDesk, receiver: Receiver
) -> None:
    await desk.add("job.queued")
    await desk.jobs(3, ())
    sender = desk.sender()
    sender.client = BrokenForOne(desk.settings, resolve_host)
    desk.senders.append(sender)
    await sender.open()
    await until(lambda: desk.states() == {"delivered": 2, "pending": 1})
    await desk.pass_time(minutes=3)
    await until(lambda: desk.states() == {"delivered": 3})
    assert len(receiver.ids) == len(set(receiver.ids)) == 3, "what was accepted is not sent again"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"wait": 3}, "did not answer within 2 s"),
        ({"drip": 0.7, "body": b"x" * 50_000, "status": 500}, "did not answer within 2 s"),
        ({"raw": b"\x00\x01 no HTTP at all \xff\r\n\r\n"}, "cannot be reached"),
        ({"raw": b""}, "cannot be reached"),
        ({"status": 302, "headers": {"Location": "/elsewhere"}}, "redirect"),
        ({"status": 303, "headers": {"Location": "/elsewhere"}}, "redirect"),
        ({"status": 307, "headers": {"Location": "/elsewhere"}}, "redirect"),
        ({"status": 500, "body": b"secret words of the receiver"}, "answers 500"),
        ({"status": 404, "headers": {"Content-Encoding": "gzip"}}, "answers 404"),
    ],
)
async def test_a_receiver_that_misbehaves_is_tried_again_and_followed_nowhere(
    desk: WebhookDesk, receiver: Receiver, how: dict[str, Any], told: str
) -> None:
    await desk.add("job.queued")
    for name, value in how.items():
        setattr(receiver, name, value)
    await desk.open()
    await desk.jobs(1, ())
    await until(lambda: desk.sql("select attempts from webhook_deliveries") == [(1,)])
    ((state, error),) = desk.sql("select state, error from webhook_deliveries")
    assert state == "pending" and told in error and "secret words" not in error
    assert set(receiver.paths) == {"/hook"}
    for name in how:
        setattr(receiver, name, getattr(Receiver(), name))
    receiver.got.clear()  # a slow one had read it, and said so too late
    await desk.pass_time(minutes=1)
    await until(lambda: desk.states() == {"delivered": 1})
    assert len(receiver.ids) == 1


@pytest.mark.parametrize(
    "how", [{"body": b"y" * 5_000_000}, {"headers": {"Content-Type": "image/png"}}, {"status": 204, "body": b""}]
)
async def test_an_acceptance_counts_whatever_stands_in_it(
    desk: WebhookDesk, receiver: Receiver, how: dict[str, Any]
) -> None:
    await desk.add("job.queued")
    for name, value in how.items():
        setattr(receiver, name, value)
    await desk.open()
    await desk.jobs(2, ())
    await until(lambda: desk.states() == {"delivered": 2})
    assert receiver.asked == 2


async def test_one_event_that_fails_holds_up_its_job_and_no_other(desk: WebhookDesk, receiver: Receiver) -> None:
    await desk.add("job.*")
    first, second = await desk.jobs(2)
    receiver.status = 500
    sender = await desk.open()
    await until(lambda: desk.sql("select failures from webhooks")[0][0] == 1)
    await sender.close()
    # Only the first job's first event has to wait; the receiver is well again.
    await desk.run(
        "update webhook_deliveries set next_at = clock_timestamp() - interval '1 s' where subject = %s", f"job:{second}"
    )
    await desk.run(
        "update webhook_deliveries set next_at = clock_timestamp() + interval '1 h' where subject = %s", f"job:{first}"
    )
    await desk.run("update webhooks set next_at = clock_timestamp(), lease_until = null")
    receiver.status = 200
    await desk.open("two")
    await until(lambda: desk.states() == {"delivered": 2, "pending": 2})
    await asyncio.sleep(0.3)
    assert receiver.by_subject("job_id") == {second: ["job.queued", "job.finished"]}


async def test_a_sender_that_is_killed_in_the_middle_loses_nothing(
    desk: WebhookDesk, receiver: Receiver, record_property: Record
) -> None:
    await desk.add("job.*")
    jobs, killed = await desk.jobs(150), 0
    senders = [desk.start_process()]
    try:
        while killed < 3:
            before = len(receiver.got)
            await until(lambda seen=before: len(receiver.got) > seen + 20)
            senders[-1].kill()
            senders[-1].wait()
            killed += 1
            await desk.run("update webhooks set lease_until = clock_timestamp()")  # a minute passes
            senders.append(desk.start_process())
        await until(lambda: desk.states() == {"delivered": 300}, 60)
    finally:
        for sender in senders:
            sender.kill()
            sender.wait()
    again = len(receiver.ids) - len(set(receiver.ids))
    record_property("events sent again under their ids after three kills", again)
    assert len(set(receiver.ids)) == 300 and again <= killed * desk.settings.at_once
    assert receiver.by_subject("job_id") == {job: ["job.queued", "job.finished"] for job in jobs}
    assert receiver.refused == 0


async def test_two_replicas_send_each_event_once(desk: WebhookDesk, receiver: Receiver) -> None:
    for name in ("a", "b", "c"):
        await desk.add("job.*", name=name)
    await desk.open("one")
    await desk.open("two")
    await desk.jobs(60)
    await until(lambda: desk.states() == {"delivered": 360})
    assert set(Counter(receiver.ids).values()) == {3} and len(set(receiver.ids)) == 120


async def test_a_webhook_tells_of_a_document_only_what_its_owner_or_its_role_may_see(
    desk: WebhookDesk, receiver: Receiver
) -> None:
    await desk.add("document.*", name="by admin")
    sender = desk.sender()
    open_, mine, hidden, later = [await desk.document(who) for who in ((), ["role:admin"], ["user:x@y.z"], [])]
    await desk.run("update documents set status = 'completed' where workspace_id = %s", desk.office.scope.workspace)
    await desk.run("update documents set readers = '{user:x@y.z}' where id = %s", later)  # before it is sent
    await desk.run("delete from documents where id = any(%s)", [hidden, mine])
    await sender.open()
    desk.senders.append(sender)
    await until(lambda: "pending" not in desk.states())
    assert receiver.by_subject("document_id") == {
        open_: ["document.ready"],
        mine: ["document.ready", "document.deleted"],
    }
    assert desk.states() == {"delivered": 3, "withheld": 3}
    receiver.got.clear()
    await desk.add("*", name="as viewers", role=Role.VIEWER)
    await desk.run("delete from webhooks where name = 'by admin'")
    ids = [await desk.document(who) for who in ([], ["role:admin"], ["role:viewer"])]
    await desk.run(
        "update documents set status = 'failed', failure = '{\"reason\": \"encrypted\"}' where id = any(%s)", ids
    )
    await until(lambda: "pending" not in desk.states())
    assert set(receiver.by_subject("document_id")) == {ids[0], ids[2]}
    assert {one.data["reason"] for one in receiver.got} == {"encrypted"}
    assert all(b"a.txt" not in one.body for one in receiver.got)  # ids and states, no names and no text


async def test_a_webhook_whose_owner_has_gone_tells_nobody_anything(desk: WebhookDesk, receiver: Receiver) -> None:
    await desk.add("job.*")
    await desk.run("update users set disabled = true where email = %s", desk.office.emails[Role.ADMIN])
    await desk.open()
    await desk.jobs(3, ())
    await until(lambda: desk.sql("select failures from webhooks")[0][0] >= 2)
    assert receiver.asked == 0 and "owner" in desk.sql("select error from webhooks")[0][0]


async def test_secrets_are_rotated_with_two_that_are_valid_and_sealed_again_by_the_vault(
    desk: WebhookDesk, receiver: Receiver, admin_dsn: str
) -> None:
    webhook = await desk.add("job.queued")
    (first,) = receiver.secrets
    scope, sender = (await desk.member()).scope, desk.sender()
    async with desk.database.transaction(scope) as tx:
        second = await sender.store.rotate_secret(tx, scope, webhook, 3600)
    await desk.open()
    await desk.jobs(1, ())
    await until(lambda: len(receiver.got) == 1)
    sealed = b"".join(bytes(row[0]) for row in desk.sql("select sealed from webhook_secrets"))
    assert first[6:].encode() not in sealed and second[6:].encode() not in sealed
    for secret in (first, second):
        Webhook(secret).verify(receiver.got[0].body, dict(receiver.got[0].headers))
    await desk.pass_time(hours=2)
    receiver.secrets = [second]
    await desk.jobs(1, ())
    await until(lambda: len(receiver.got) == 2)
    with pytest.raises(WebhookVerificationError):
        Webhook(first).verify(receiver.got[1].body, dict(receiver.got[1].headers))
    keys = [VaultKey(b"n" * 32), VaultKey(b"k" * 32)]
    done = await rotate_keys(admin_dsn, Vault(keys), None, lambda *_: None)
    assert done["webhook_secrets"].resealed == done["webhook_secrets"].total == 2
    await desk.close()
    desk.senders.append(webhook_sender(desk.database, desk.settings, "newer", Vault(keys[:1])))
    await desk.senders[-1].open()
    await desk.jobs(1, ())
    await until(lambda: len(receiver.got) == 3)
    assert receiver.refused == 0


async def test_a_receiver_that_is_gone_is_told_no_more(desk: WebhookDesk, receiver: Receiver) -> None:
    await desk.add("job.*")
    receiver.status = 410
    await desk.open()
    await desk.jobs(1, ())
    await until(lambda: desk.sql("select enabled from webhooks") == [(False,)])
    await desk.jobs(1)
    assert sum(desk.states().values()) == 1 and "410" in desk.sql("select disabled_why from webhooks")[0][0]


async def test_events_that_nobody_wants_are_not_written_and_old_ones_go(desk: WebhookDesk, receiver: Receiver) -> None:
    await desk.jobs(1)
    await desk.add("approval.*")
    await desk.jobs(1)
    assert desk.sql("select count(*) from outbox") == [(0,)]
    await desk.add("job.*", name="jobs")
    await desk.jobs(1)
    await desk.open()
    await until(lambda: desk.states() == {"delivered": 2})
    await desk.close()
    await desk.pass_time(days=31)
    await desk.jobs(1, ())
    await desk.open("again")
    await until(lambda: desk.states() == {"delivered": 1} and desk.sql("select count(*) from outbox") == [(1,)])
