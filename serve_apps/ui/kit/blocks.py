"""The building blocks of pages: tables, badges, figures, cards, empty states, progress; all of it escaped HTML."""

from collections.abc import Iterable, Sequence
from typing import Literal

from serve_apps.ui.kit.html import Child, SafeHtml, quiet_span, quiet_text, tag
from serve_apps.ui.kit.problem import ProblemReport

Colour = Literal["green", "amber", "red", "grey", "blue"]
# What the states of jobs, runs, documents and approvals look like; others are grey.
STATES: dict[str, Colour] = {
    **dict.fromkeys(("completed", "succeeded", "approved", "active", "ok"), "green"),
    **dict.fromkeys(("running", "processing", "indexing", "reading"), "blue"),
    **dict.fromkeys(("partial", "degraded", "waiting_approval", "pending", "awaiting_input"), "amber"),
    **dict.fromkeys(("failed", "rejected", "refused", "expired"), "red"),
}


def page_heading(title: str, about: Child = None, *actions: Child) -> SafeHtml:
    """The head of a page."""
    left = tag("div", tag("h1", title), quiet_text(about) if about else None)
    return tag("div", left, tag("div", actions, class_="actions") if actions else None, class_="aos-heading")


def state_badge(text: str, colour: Colour | None = None) -> SafeHtml:
    """A state in a word; without a colour, the one that belongs to the state."""
    return tag("span", text.replace("_", " "), class_=f"aos-badge {colour or STATES.get(text, 'grey')}")


def status_dot(colour: Colour, label: str) -> SafeHtml:
    """A light; `label` is what it says to who does not see colours."""
    return tag("span", class_=f"aos-dot {colour}", role="img", aria_label=label, title=label)


def link_to(text: Child, address: str | None) -> SafeHtml:
    """A link, or the text alone where it leads nowhere."""
    return tag("span", text) if address is None else tag("a", text, href=address)


def data_table(
    columns: Sequence[str], rows: Iterable[Sequence[Child]], *, caption: str = "", numbers: Sequence[int] = ()
) -> SafeHtml:
    """Rows with a head; on a phone each row becomes a card. `numbers`: columns whose cells stand right."""
    right = ["number" if n in numbers else None for n in range(len(columns))]
    head = tag("tr", [tag("th", name, scope="col", class_=side) for name, side in zip(columns, right, strict=True)])
    body = [
        tag("tr", [tag("td", cell, data_label=columns[n] or None, class_=right[n]) for n, cell in enumerate(row)])
        for row in rows
    ]
    named = tag("caption", caption) if caption else None
    return tag("div", tag("table", named, tag("thead", head), tag("tbody", body)), class_="aos-table")


def key_figure(
    label: str, value: str, address: str | None = None, about: Child = None, colour: Colour | None = None
) -> SafeHtml:
    """A key figure; the whole of it is a link where it leads somewhere."""
    figure = tag("span", value, class_=f"value {colour or ''}".strip())
    inside = tag("span", label, class_="label"), figure, quiet_span(about) if about else None
    return tag("div" if address is None else "a", inside, class_="aos-figure", href=address)


def key_figures(*those: SafeHtml) -> SafeHtml:
    """Key figures in a row."""
    return tag("div", those, class_="aos-figures")


def titled_card(title: Child, *inside: Child, aside: Child = None) -> SafeHtml:
    """Something with a title in a frame."""
    head = tag("div", tag("h2", title), aside, class_="aos-card-head")
    return tag("section", head, inside, class_="aos-card")


def card_columns(*those: Child) -> SafeHtml:
    """Cards beside each other where there is room."""
    return tag("div", those, class_="aos-columns")


def empty_state(what: str, todo: Child) -> SafeHtml:
    """Nothing is here: what that means, and what to do."""
    return tag("div", tag("strong", what), tag("p", todo), class_="aos-empty")


def empty_card(title: Child, what: str, todo: Child, *, aside: Child = None) -> SafeHtml:
    """A card with nothing in it."""
    return titled_card(title, empty_state(what, todo), aside=aside)


def loading_notice(what: str = "One moment …") -> SafeHtml:
    """Until the first answer is there."""
    return tag("div", what, class_="aos-loading", role="status")


def progress_bar(done: int, total: int, label: str = "") -> SafeHtml:
    """A bar with its numbers; without a known total it only says how many are done."""
    said = f"{done:,} of {total:,}" if total else f"{done:,}"
    bar = tag("progress", value=done, max=total, aria_label=label or said) if total else None
    return tag("div", bar, quiet_span(f"{label} {said}".strip()), class_="aos-progress")


def problem_card(told: ProblemReport) -> SafeHtml:
    """Card of a problem: what happened, and what to try."""
    known = told.code + (f", {told.status}" if told.status else "")
    detail = tag("p", told.detail) if told.detail and told.detail != told.title else None
    fix = tag("p", tag("b", "What to try: "), told.fix) if told.fix else None
    return tag("div", tag("strong", told.title), detail, fix, tag("code", known), class_="aos-problem", role="alert")


def list_pager(address: str, skip: int, limit: int, total: int) -> SafeHtml:
    """Back and forth in a list; `address` has its other parameters already."""
    joint = "&" if "?" in address else "?"

    def step(label: str, to: int, usable: bool) -> SafeHtml:
        return link_to(label, f"{address}{joint}skip={max(0, to)}") if usable else quiet_span(label)

    shown = f"{min(skip + 1, total):,}–{min(skip + limit, total):,} of {total:,}"
    back, on = step("← Newer", skip - limit, skip > 0), step("Older →", skip + limit, skip + limit < total)
    return tag("nav", back, quiet_span(shown), on, class_="aos-pager", aria_label="Pages of the list")
