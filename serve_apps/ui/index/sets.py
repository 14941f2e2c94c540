"""Golden sets that guard the index: which there are, what they demand, and their questions."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_card, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.sessions import Role

LIMIT: Final = 25


async def sets_view(console: ConsoleContext, api: SessionApi, chosen: str, skip: int) -> SafeHtml:
    """All sets; the questions of one of them, a page at a time."""
    body = await api.get("/api/golden-sets", limit=100)
    listed = _sets_table(console, body["items"])
    one = next((row for row in body["items"] if str(row["id"]) == chosen), None)
    if one is None or not api.session.role.reaches(Role.OPERATOR):
        return listed
    asked = await api.get(f"/api/golden-sets/{chosen}/questions", skip=skip, limit=LIMIT)
    return join_html(listed, _question_table(console, one, asked, skip))


def _sets_table(console: ConsoleContext, items: Sequence[Record]) -> SafeHtml:
    if not items:
        lab = link_to("search lab", console.link("search"))
        todo = "Save a question that was answered well in the ", lab, ", and let its set guard the index."
        return empty_card("Golden sets", "There is no golden set.", todo)
    rows = [
        (
            link_to(one["name"], console.link("index", set=one["id"])),
            format_number(one["questions"]),
            state_badge("guards the index", "green") if one["gate"] else state_badge("only measures", "grey"),
            format_percent(one["least_recall"]),
            format_moment(one["updated_at"], relative=True),
            link_to("runs and trend", console.link("search", set=one["id"])),
        )
        for one in items
    ]
    names = ("Set", "Questions", "Gate", "Least recall", "Changed", "")
    return titled_card("Golden sets", data_table(names, rows, numbers=(1, 3)))


def _question_table(console: ConsoleContext, one: Record, asked: Record, skip: int) -> SafeHtml:
    rows = []
    for one in asked["items"]:
        right = state_badge("answerable", "green") if one["answerable"] else state_badge("no answer is right", "amber")
        documents, answers = ", ".join(one["documents"]) or "–", "; ".join(one["answers"]) or "–"
        rows.append((one["question"], documents, answers, right))
    if not rows:
        return empty_card(f"Questions of {one['name']}", "The set is empty.", "Save questions in the search lab.")
    names = ("Question", "Expected documents", "Right answers", "")
    address = console.link("index", set=one["id"])
    back = list_pager(address, skip, LIMIT, asked["total"]) if address and asked["total"] > LIMIT else None
    return titled_card(f"Questions of {one['name']}", tag("div", data_table(names, rows)), back)
