"""Golden sets that guard the index: which there are, what they demand, and their questions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, link, pager, table
from serve_apps.ui.kit.formats import moment, number, percent
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.sessions import Role

LIMIT: Final = 25


async def sets_view(desk: Desk, api: Api, chosen: str, skip: int) -> Html:
    """All sets; the questions of one of them, a page at a time."""
    body = await api.get("/api/golden-sets", limit=100)
    listed = _sets(desk, body["items"])
    one = next((row for row in body["items"] if str(row["id"]) == chosen), None)
    if one is None or not api.session.role.reaches(Role.OPERATOR):
        return listed
    asked = await api.get(f"/api/golden-sets/{chosen}/questions", skip=skip, limit=LIMIT)
    return join(listed, _questions(desk, one, asked, skip))


def _sets(desk: Desk, items: Sequence[Mapping[str, Any]]) -> Html:
    if not items:
        todo = join(
            "Save a question that was answered well in the ",
            link("search lab", desk.link("search")),
            ", and let its set guard the index.",
        )
        return card("Golden sets", empty("There is no golden set.", todo))
    rows = [
        (
            link(one["name"], desk.link("index", set=one["id"])),
            number(one["questions"]),
            badge("guards the index", "green") if one["gate"] else badge("only measures", "grey"),
            percent(one["least_recall"]),
            moment(one["updated_at"], relative=True),
            link("runs and trend", desk.link("search", set=one["id"])),
        )
        for one in items
    ]
    names = ("Set", "Questions", "Gate", "Least recall", "Changed", "")
    return card("Golden sets", table(names, rows, numbers=(1, 3)))


def _questions(desk: Desk, one: Mapping[str, Any], asked: Mapping[str, Any], skip: int) -> Html:
    rows = [
        (
            question["question"],
            ", ".join(question["documents"]) or "–",
            "; ".join(question["answers"]) or "–",
            badge("answerable", "green") if question["answerable"] else badge("no answer is right", "amber"),
        )
        for question in asked["items"]
    ]
    if not rows:
        return card(f"Questions of {one['name']}", empty("The set is empty.", "Save questions in the search lab."))
    names = ("Question", "Expected documents", "Right answers", "")
    address = desk.link("index", set=one["id"])
    back = pager(address, skip, LIMIT, asked["total"]) if address and asked["total"] > LIMIT else None
    return card(f"Questions of {one['name']}", tag("div", table(names, rows)), back)
