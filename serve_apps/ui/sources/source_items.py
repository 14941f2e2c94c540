"""A source's items: who may see each, which people and groups are unknown here, and what could not be fetched."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.blocks import Colour, data_table, empty_state, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_number
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX, query_int
from serve_apps.ui.system.forms import ActForm, query_form
from serve_apps.ui.system.section import Query, page_address

PAGE_OF: Final = 25
SHOWN: Final = 10
FILTER: Final = ActForm("sources.items")
ONLY: Final = (("", "all"), ("failed", "not fetched"), ("gone", "left"), ("waiting", "waiting for you"))
STATES: Final[Mapping[str, tuple[str, Colour]]] = {
    "here": ("here", "green"),
    "waiting": ("waits for you", "amber"),
    "gone": ("left", "grey"),
    "failed": ("not fetched", "red"),
}


def rights_card(rights: Record) -> SafeHtml:
    """The source's rights as they are understood."""
    return titled_card("Who may see it", rights_view(rights))


def rights_view(rights: Record) -> SafeHtml:
    """The same without its frame."""
    if not rights["has_rights"]:
        chosen = ", ".join(one["name"] for one in rights["readers"]) or "everybody of the workspace"
        return quiet_text(f"A source of this kind does not say who may see its items. Chosen here: {chosen}.")
    said = tag(
        "p",
        f"Of {format_count(rights['items'], 'item')}, {format_number(rights['nobody'])} are seen by nobody here; ",
        f"the source tells no rights for {format_number(rights['unsaid'])} of those.",
    )
    readers = _named("Readers", rights["readers"], rights["readers_total"], "Nobody here sees any of it.")
    people = _named("Unknown people", rights["unknown_users"], rights["unknown_users_total"], "none")
    groups = _named("Unknown groups", rights["unknown_groups"], rights["unknown_groups_total"], "none")
    hint = quiet_text("Who is unknown here sees nothing. An account with that e-mail address, a group of that name, ")
    rest = quiet_text("or a line in the names of groups gives them what the source does.")
    unknown = rights["unknown_users_total"] or rights["unknown_groups_total"]
    columns = tag("div", readers, people, groups, class_="aos-columns")
    return join_html(said, columns, *((hint, rest) if unknown else ()))


def _named(title: str, named: Sequence[Record], total: int, none: str) -> SafeHtml:
    head = f"{title} ({format_number(total)})"
    if not named:
        return tag("div", tag("b", head), quiet_text(none))
    rows = [(one["name"], format_number(one["items"])) for one in named[:SHOWN]]
    left = quiet_text(f"and {format_number(total - len(rows))} more") if total > len(rows) else None
    return tag("div", data_table(("Name", "Items"), rows, caption=head, numbers=(1,)), left)


def item_table(one: Record, found: Record, asked: Query) -> SafeHtml:
    """Items by path, with a filter; each with its readers."""
    filters = query_form(
        "sources",
        tag("input", type="hidden", name="id", value=one["id"]),
        FILTER.choice("only", "Items", ONLY, asked.get("only", "")),
        FILTER.text("q", "Part of the path", asked.get("q", "")),
    )
    if not found["items"]:
        todo = "Take the filter away." if asked.get("only") or asked.get("q") else "They show up with its first sync."
        return titled_card("Items", filters, empty_state("There are none.", todo))
    rows = [_item_row(each) for each in found["items"]]
    heads = ("Path", "State", "Who may see it", "Unknown here", "What is wrong")
    kept = {"id": one["id"], "only": asked.get("only"), "q": asked.get("q")}
    more = found["total"] > PAGE_OF
    pager = list_pager(page_address("sources", **kept), query_int(asked), PAGE_OF, found["total"]) if more else None
    return titled_card("Items", filters, data_table(heads, rows), pager)


def _item_row(item: Record) -> tuple[Child, ...]:
    there = item["document_id"] is not None and item["status"] is not None
    name = link_to(item["path"], f"{PREFIX}/documents?id={item['document_id']}" if there else None)
    said, colour = STATES[item["state"]]
    readers: Child = ", ".join(item["readers"]) or "the workspace"
    if item["nobody"]:
        readers = quiet_span("nobody")
    return name, state_badge(said, colour), readers, ", ".join(item["unknown"]) or "–", item["error"] or "–"
