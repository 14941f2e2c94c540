"""Settings of events: webhooks that go out, and the stream by which uploaded documents come in."""

from uuid import UUID

from pydantic import Field

from configs.section import Section


class WebhookSettings(Section):
    """What webhooks may reach, and how long they are tried.

    `hosts`: whom events may be sent to. `*` is every public host over https at its usual port; `name` and `*.name` are
    hosts and what is below them; `name:port` is just that, also with a private address or over http. `seconds`: for one
    attempt. `at_once`: events on their way to one receiver. After `circuit_failures` in a row a receiver rests for
    `rest_seconds`, twice as long each time, at most `longest_rest`. What cannot be delivered for `dead_days` is given
    up. `keep_days`: how long what was sent can be replayed. What is to be sent is looked for every `sweep_seconds`
    where Postgres tells of it, too; where it does not, every `poll_seconds`.
    """

    hosts: tuple[str, ...] = ("*",)
    poll_seconds: float = Field(1, gt=0, le=60)
    sweep_seconds: float = Field(5, gt=0, le=60)
    seconds: float = Field(15, gt=0, le=60)
    at_once: int = Field(8, ge=1, le=64)
    circuit_failures: int = Field(5, ge=1, le=100)
    rest_seconds: float = Field(30, gt=0)
    longest_rest: float = Field(3600, gt=0)
    dead_days: int = Field(3, ge=1, le=30)
    keep_days: int = Field(30, ge=1, le=365)


class EventStreamSettings(Section):
    """A stream of Redis by which others say that a document was uploaded; without `stream` there is none.

    `account`: e-mail address of the account whose rights its events have, in `workspace` (its oldest, where none is
    named). With `impersonate` an event acts for the member whom its `user_id` names, with no more rights than both;
    without it a `user_id` has to be the account's. An event is tried `attempts` times, each after `retry_seconds`,
    before it goes to the stream of dead letters, `<stream>:dead`, which keeps the newest `dead_letters`. What waits
    for a part of the product, or a day for room in the tenant's pages, is not counted.
    """

    stream: str | None = None
    group: str = "aos"
    account: str | None = None
    workspace: UUID | None = None
    impersonate: bool = False
    poll_seconds: float = Field(0.5, gt=0, le=60)
    retry_seconds: float = Field(60, gt=0)
    attempts: int = Field(5, ge=1, le=100)
    dead_letters: int = Field(10_000, ge=1)
