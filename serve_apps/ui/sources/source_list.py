"""The list of sources: how each stands, when it synchronises, what came of it, and what waits for a person."""

from typing import Final

from serve_apps.ui.kit.blocks import Colour, data_table, empty_card, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_moment, format_number
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_span, quiet_text
from serve_apps.ui.system.forms import action_link
from serve_apps.ui.system.section import page_address

PAGE_OF: Final = 50
ABOUT: Final = "Documents come by themselves, with the rights that they have there, and leave when they left."
AT_WORK: Final = ("queued", "running")
CHANGES: Final = ("added", "changed", "moved", "returned", "rights", "removed")


def source_list(body: Record, skip: int, admin: bool) -> SafeHtml:
    """Each source in a row."""
    new = action_link("Add a source", page_address("sources", new="choose")) if admin else None
    if not body["items"]:
        todo = join_html(
            "Folders, buckets and the like can be read by themselves. ", new or "An administrator adds one."
        )
        return empty_card("Sources", "There is no source.", todo)
    rows = []
    for one in body["items"]:
        link = link_to(one["name"], page_address("sources", id=one["id"]))
        last = format_moment(one["last_success_at"], relative=True)
        here, failed = format_number(one["items"]), failed_count(one)
        rows.append((link, one["kind"], standing(one), last, next_sync(one), here, changes_of(one), failed, waits(one)))
    heads = ("Name", "Kind", "State", "Last sync", "Next sync", "Documents", "Last changes", "Failed", "Waits for you")
    paged = list_pager(page_address("sources"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    return titled_card("Sources", quiet_text(ABOUT), data_table(heads, rows, numbers=(5,)), paged, aside=new)


def standing(one: Record) -> SafeHtml:
    """The state of a source in a word: the most important there is to say."""
    said, colour = _state_of(one)
    return state_badge(said, colour)


def _state_of(one: Record) -> tuple[str, Colour]:
    states: tuple[tuple[object, str, Colour], ...] = (
        (one["job_state"] in AT_WORK, "at work", "blue"),
        (one["hidden_at"], "hidden", "red"),
        (one["waiting"], "waits for you", "amber"),
        (one["last_error"], "failing", "red"),
        (not one["enabled"], "paused", "grey"),
        (not one["last_success_at"], "not yet synchronised", "grey"),
    )
    return next(((said, colour) for holds, said, colour in states if holds), ("in step", "green"))


def next_sync(one: Record) -> SafeHtml:
    """When the next sync begins by itself, or why none does."""
    if not one["enabled"]:
        return quiet_span("paused")
    return format_moment(one["next_at"], relative=True) if one["next_at"] else quiet_span("only when asked")


def changes_of(one: Record) -> Child:
    """What the newest sync or dry run came to, in numbers."""
    if not one["last_plan"]:
        return "–"
    said = ", ".join(told_counts(one["last_plan"]["counts"])) or "nothing changed"
    return join_html(quiet_span("dry run: "), said) if one["last_plan"]["dry_run"] else said


def told_counts(counts: Record) -> list[str]:
    """Counts of a plan that are not 0, as "3 added"; those first that are changes."""
    return [f"{format_number(counts[name])} {name}" for name in CHANGES if counts.get(name)]


def failed_count(one: Record) -> Child:
    """How many items could not be fetched, as a link to them."""
    if not one["failed"]:
        return "0"
    return link_to(format_number(one["failed"]), page_address("sources", id=one["id"], only="failed"))


def waits(one: Record) -> Child:
    """What waits for a person, as a link to where they decide."""
    if not one["waiting"]:
        return "–"
    said = format_count(one["waiting"]["removals"], "removal")
    return link_to(said, page_address("sources", id=one["id"]))
