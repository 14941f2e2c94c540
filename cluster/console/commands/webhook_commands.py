"""`aos webhooks`: where this workspace's events go out to, what became of each, and sending again."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

PATH = "/api/webhooks"
COLUMNS = ("name", "url", "topics", "owner", "role", "enabled", "pending", "dead", "failures", "succeeded_at", "error")
DELIVERED = ("created_at", "topic", "subject", "state", "attempts", "status", "error", "event_id")
UNITS = {"m": 60, "h": 3600, "d": 86_400}

Which = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's name or id, from `aos webhooks list`.")]
TopicOption = Annotated[
    list[str] | None, typer.Option("--topic", help="job.*, document.ready, …; repeatable. Everything when left out.")
]

webhooks = typer.Typer(no_args_is_help=True, help="List, add, test and remove webhooks; send events again.")


@webhooks.command("list")
def list_webhooks(context: CommandContext, as_json: AsJson = False) -> None:
    """Every webhook, how it stands and what it still lacks. Example: aos webhooks list"""
    found = context.obj.api.request("GET", PATH, params={"limit": AT_ONCE})
    rows = [item | {"topics": ", ".join(item["topics"])} for item in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))


@webhooks.command("add")
def add_webhook(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    url: Annotated[str, typer.Argument(help="Where events are sent, over https.")],
    topics: TopicOption = None,
    role: Annotated[str | None, typer.Option(help="Tell only what a member with this role alone may see.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send events to an address. Its secret is printed once: the receiver checks signatures with it.

    Example: aos webhooks add crm https://hooks.example.com/aos --topic document.* --topic job.failed
    """
    body: JSON = {"name": name, "url": url, "topics": topics or ["*"], "role": role}
    made = context.obj.api.request("POST", PATH, json=body)
    context.obj.plain(
        made, as_json, f"{made['name']} is told of {', '.join(made['topics'])}.\nSecret: {made['secret']}"
    )


@webhooks.command("change")
def change_webhook(
    context: CommandContext,
    webhook: Which,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    url: Annotated[str | None, typer.Option(help="Another address.")] = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", help="Other topics; repeatable.")] = None,
    enabled: Annotated[bool | None, typer.Option("--on/--off", help="Switch it on or off.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a webhook, or switch it on or off. Example: aos webhooks change crm --off"""
    given = {"name": name, "url": url, "topics": topics or None, "enabled": enabled}
    body: JSON = {key: value for key, value in given.items() if value is not None}
    if not body:
        raise Invalid("what is to be changed?", fix="Give --name, --url, --topic, --on or --off.")
    after = context.obj.api.request("PATCH", f"{PATH}/{_find_webhook(context.obj, webhook)}", json=body)
    context.obj.plain(after, as_json, f"{after['name']} is {'on' if after['enabled'] else 'off'}.")


@webhooks.command("remove")
def remove_webhook(context: CommandContext, webhook: Which, as_json: AsJson = False) -> None:
    """Send nothing more to it; what it still lacks is forgotten. Example: aos webhooks remove crm"""
    context.obj.api.request("DELETE", f"{PATH}/{_find_webhook(context.obj, webhook)}")
    context.obj.plain({"webhook": webhook, "status": "removed"}, as_json, f"{webhook} is gone.")


@webhooks.command("secret")
def rotate_secret(
    context: CommandContext,
    webhook: Which,
    overlap: Annotated[float, typer.Option(help="Hours for which the secret before signs as well.")] = 24,
    as_json: AsJson = False,
) -> None:
    """Give it another secret, which is printed once. Example: aos webhooks secret crm --overlap 48"""
    path = f"{PATH}/{_find_webhook(context.obj, webhook)}/secret"
    made = context.obj.api.request("POST", path, json={"overlap_hours": overlap})
    context.obj.plain(made, as_json, f"{made['secrets']} secrets are valid now.\nSecret: {made['secret']}")


@webhooks.command("deliveries")
def list_deliveries(
    context: CommandContext,
    webhook: Which,
    state: Annotated[str | None, typer.Option(help="pending, delivered, dead or withheld.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=AT_ONCE)] = 50,
    as_json: AsJson = False,
) -> None:
    """What was sent or is to be, latest first. Example: aos webhooks deliveries crm --state dead"""
    path = f"{PATH}/{_find_webhook(context.obj, webhook)}/deliveries"
    asked: JSON = {"limit": limit} | ({} if state is None else {"state": state})
    context.obj.print_items(path, DELIVERED, as_json, **asked)


@webhooks.command("replay")
def replay(
    context: CommandContext,
    webhook: Which,
    event: Annotated[str | None, typer.Option(help="One event, by its id.")] = None,
    since: Annotated[str | None, typer.Option(help="All since then: 2h, 3d, or 2030-01-31T00:00:00Z.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Of those, what was given up.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send events again, under the ids that they had. Example: aos webhooks replay crm --since 3d --failed"""
    if (event is None) == (since is None):
        raise Invalid("what is to be sent again?", fix="Give --event ID or --since 3d.")
    body: JSON = {"failed_only": failed}
    body |= {"event_id": event} if since is None else {"since": moment_of(since, datetime.now(UTC))}
    done = context.obj.api.request("POST", f"{PATH}/{_find_webhook(context.obj, webhook)}/replay", json=body)
    context.obj.plain(done, as_json, f"{done['replayed']} events are sent again.")


@webhooks.command("resend")
def resend(
    context: CommandContext,
    webhook: Which,
    event: Annotated[str | None, typer.Option(help="One event, by its id from `aos webhooks deliveries`.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send again what was given up: all of it, or one event. Events of a job keep their order.

    Examples: aos webhooks resend crm · aos webhooks resend crm --event evt_7d1f…
    """
    body: JSON = {"failed_only": True} | ({} if event is None else {"event_id": event})
    done = context.obj.api.request("POST", f"{PATH}/{_find_webhook(context.obj, webhook)}/replay", json=body)
    context.obj.plain(done, as_json, f"{done['replayed']} events are sent again.")


@webhooks.command("ping")
def ping(context: CommandContext, webhook: Which, as_json: AsJson = False) -> None:
    """Send a test message now; exits with 1 where it is not accepted. Example: aos webhooks ping crm"""
    done = context.obj.api.request("POST", f"{PATH}/{_find_webhook(context.obj, webhook)}/ping")
    said = f"accepted with {done['status']}" if done["accepted"] else f"not accepted: {done['error']}"
    context.obj.plain(done, as_json, f"{webhook}: {said}")
    if not done["accepted"]:
        raise typer.Exit(1)


def moment_of(text: str, now: datetime) -> str:
    """A moment as the API takes it; `3d` is three days ago. Raises Invalid: it is neither."""
    number, unit = text[:-1], text[-1:]
    if unit in UNITS and number.isascii() and number.isdigit() and len(number) < 7:
        return (now - timedelta(seconds=int(number) * UNITS[unit])).isoformat()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"{text} is no moment", fix="Give 30m, 2h, 3d, or 2030-01-31T00:00:00Z.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def _find_webhook(session: CommandSession, wanted: str) -> str:
    return session.require_id(PATH, wanted, "webhook", "aos webhooks list shows them.")
