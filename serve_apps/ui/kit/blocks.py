"""The building blocks of pages: tables, badges, figures, cards, empty states, progress; all of it escaped HTML."""

from collections.abc import Iterable, Sequence
from typing import Literal

from serve_apps.ui.kit.html import Child, Html, join, tag
from serve_apps.ui.kit.problem import Trouble

Colour = Literal["green", "amber", "red", "grey", "blue"]
# What the states of jobs, runs, documents and approvals look like; others are grey.
STATES: dict[str, Colour] = {
    "completed": "green",
    "succeeded": "green",
    "approved": "green",
    "active": "green",
    "ok": "green",
    "running": "blue",
    "processing": "blue",
    "indexing": "blue",
    "reading": "blue",
    "partial": "amber",
    "degraded": "amber",
    "waiting_approval": "amber",
    "pending": "amber",
    "awaiting_input": "amber",
    "failed": "red",
    "rejected": "red",
    "refused": "red",
    "expired": "red",
}


def heading(title: str, about: Child = None, *actions: Child) -> Html:
    """The head of a page."""
    left = tag("div", tag("h1", title), tag("p", about, class_="quiet") if about else None)
    return tag("div", left, tag("div", actions, class_="actions") if actions else None, class_="aos-heading")


def badge(text: str, colour: Colour | None = None) -> Html:
    """A state in a word; without a colour, the one that belongs to the state."""
    return tag("span", text.replace("_", " "), class_=f"aos-badge {colour or STATES.get(text, 'grey')}")


def dot(colour: Colour, label: str) -> Html:
    """A light; `label` is what it says to who does not see colours."""
    return tag("span", class_=f"aos-dot {colour}", role="img", aria_label=label, title=label)


def link(text: Child, address: str | None) -> Html:
    """A link, or the text alone where it leads nowhere."""
    return tag("span", text) if address is None else tag("a", text, href=address)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str = "", numbers: Sequence[int] = ()
) -> Html:
    """Rows with a head; on a phone each row becomes a card. `numbers`: columns whose cells stand right."""
    head = tag("tr", [tag("th", name, scope="col", class_=_kind(n, numbers)) for n, name in enumerate(columns)])
    body = [
        tag(
            "tr",
            [tag("td", cell, data_label=columns[n] or None, class_=_kind(n, numbers)) for n, cell in enumerate(row)],
        )
        for row in rows
    ]
    named = tag("caption", caption) if caption else None
    return tag("div", tag("table", named, tag("thead", head), tag("tbody", body)), class_="aos-table")


def _kind(n: int, numbers: Sequence[int]) -> str | None:
    return "number" if n in numbers else None


def figure(
    label: str, value: str, address: str | None = None, about: Child = None, colour: Colour | None = None
) -> Html:
    """A key figure; the whole of it is a link where it leads somewhere."""
    inside = join(
        tag("span", label, class_="label"),
        tag("span", value, class_=f"value {colour or ''}".strip()),
        tag("span", about, class_="quiet") if about else None,
    )
    if address is None:
        return tag("div", inside, class_="aos-figure")
    return tag("a", inside, class_="aos-figure", href=address)


def figures(*those: Html) -> Html:
    """Key figures in a row."""
    return tag("div", those, class_="aos-figures")


def card(title: Child, *inside: Child, aside: Child = None) -> Html:
    """Something with a title in a frame."""
    head = tag("div", tag("h2", title), aside, class_="aos-card-head")
    return tag("section", head, inside, class_="aos-card")


def columns(*those: Child) -> Html:
    """Cards beside each other where there is room."""
    return tag("div", those, class_="aos-columns")


def empty(what: str, todo: Child) -> Html:
    """Nothing is here: what that means, and what to do."""
    return tag("div", tag("strong", what), tag("p", todo), class_="aos-empty")


def loading(what: str = "One moment …") -> Html:
    """Until the first answer is there."""
    return tag("div", what, class_="aos-loading", role="status")


def progress(done: int, total: int, label: str = "") -> Html:
    """A bar with its numbers; without a known total it only says how many are done."""
    said = f"{done:,} of {total:,}" if total else f"{done:,}"
    bar = tag("progress", value=done, max=total, aria_label=label or said) if total else None
    return tag("div", bar, tag("span", f"{label} {said}".strip(), class_="quiet"), class_="aos-progress")


def problem_card(told: Trouble) -> Html:
    """Card of a problem: what happened, and what to try."""
    known = f"{told.code}" + (f", {told.status}" if told.status else "")
    return tag(
        "div",
        tag("strong", told.title),
        tag("p", told.detail) if told.detail and told.detail != told.title else None,
        tag("p", tag("b", "What to try: "), told.fix) if told.fix else None,
        tag("code", known),
        class_="aos-problem",
        role="alert",
    )


def pager(address: str, skip: int, limit: int, total: int) -> Html:
    """Back and forth in a list; `address` has its other parameters already."""
    joint = "&" if "?" in address else "?"

    def step(label: str, to: int, usable: bool) -> Html:
        where = f"{address}{joint}skip={max(0, to)}" if usable else None
        return link(label, where) if usable else tag("span", label, class_="quiet")

    shown = f"{min(skip + 1, total):,}–{min(skip + limit, total):,} of {total:,}"
    back, on = step("← Newer", skip - limit, skip > 0), step("Older →", skip + limit, skip + limit < total)
    return tag("nav", back, tag("span", shown, class_="quiet"), on, class_="aos-pager", aria_label="Pages of the list")
