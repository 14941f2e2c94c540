"""A page to be reviewed: its picture with the words coloured by confidence, beside its lines to be corrected."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.documents.viewer import PICTURED, SHARP, box_style, confidence_class
from serve_apps.ui.kit.blocks import link_to, page_heading, titled_card
from serve_apps.ui.kit.caveats import caveat_note
from serve_apps.ui.kit.formats import format_moment, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX
from serve_apps.ui.pictures import picture_address
from serve_apps.ui.review.queue_view import HERE, field_text

MOST_WORDS: Final = 6000
MOST_LINES: Final = 600
LONGEST: Final = 1500  # characters of a field


def review_page(
    page: Record, kind: str, lines: Record, history: Record, steps: tuple[str | None, str | None, str], edits: bool
) -> SafeHtml:
    """The page with everything that is done to it.

    Args:
        page: as it was read, with its words.
        lines: of the same page, with its version.
        steps: addresses of the page before, of the one after, and of the queue.
        edits: the person may correct.
    """
    back, on, queue = steps
    place = f"{PREFIX}/documents?{urlencode({'id': lines['document_id'], 'page': lines['page']})}"
    about = join_html(link_to(lines["filename"], place), f", page {lines['page']} of {lines['page_count']}")
    keys = (_step_link("←", "Previous page", back, "p"), _step_link("→", "Next page", on, "n"))
    actions = [*keys, tag("a", "Queue", href=queue, class_="aos-button"), _fine_form(lines) if edits else None]
    head = page_heading("Review", about, *actions)
    caveats = caveat_note("On this page:", lines["caveats"])
    drawn = kind in PICTURED
    pair = [_picture_sheet(page, lines) if drawn else None, _line_list(lines, edits)]
    shown = tag("div", pair, class_="doc-pair" if drawn else "doc-one")
    viewer = tag("section", _state_bar(lines), shown, class_="doc-viewer boxes heat", aria_label="The page")
    return join_html(head, caveats, _fields_card(lines), viewer, _history_card(history))


def _step_link(sign: str, label: str, address: str | None, key: str) -> SafeHtml:
    """A step in the queue; its key works wherever nobody writes."""
    if address is None:
        return tag("span", sign, class_="aos-button", aria_disabled="true")
    told = {"aria_label": label, "title": f"{label} ({key})", "id": label.lower().replace(" ", "-")}
    return tag("a", sign, href=address, class_="aos-button", data_key=key, aria_keyshortcuts=key, **told)


def _fine_form(lines: Record) -> SafeHtml:
    """The button that says that the page is as it should be, or that it is to be looked at again."""
    reviewed = bool(lines["reviewed_at"])
    seen = tag("input", type="hidden", name="page_version", value=lines["page_version"])
    said, act = ("Look at it again", "again") if reviewed else ("Fine as it is", "fine")
    button = tag("button", said, class_="aos-button primary", data_act=act, id="fine")
    return tag("form", seen, button, class_="review-fine")


def _state_bar(lines: Record) -> SafeHtml:
    sure = lines["confidence"]
    read = f"Read by {lines['engine']}" + (f", {format_percent(sure)} sure" if sure is not None else "")
    weak = sum(line["weak"] for line in lines["lines"])
    told = f"{weak} of {len(lines['lines'])} lines below {format_percent(lines['threshold'])}"
    who = lines["reviewed_by"] or "somebody"
    reviewed = quiet_span(f"fine, says {who}, ", format_moment(lines["reviewed_at"])) if lines["reviewed_at"] else None
    keys = quiet_span("Keys: n next, p previous; Enter saves a line, Escape leaves it.")
    return tag("div", quiet_span(read), tag("span", told), reviewed, keys, class_="doc-bar")


def _picture_sheet(page: Record, lines: Record) -> SafeHtml:
    """The picture with a box a word; a word has the number of its line, so that they are lit together."""
    number = page["number"]
    line_at = {word[0]: line["line"] for line in lines["lines"] for word in line["words"]}
    picture = tag("img", src=picture_address(page["document_id"], number, SHARP), alt=f"Page {number} as it looks")
    over = []
    for start, text, x0, y0, x1, y1, sure in page["words"][:MOST_WORDS]:
        class_, title = f"w {confidence_class(float(sure))}", f"{text} · {format_percent(float(sure))}"
        box = (float(x0), float(y0), float(x1), float(y1))
        over.append(tag("i", class_=class_, style=box_style(box), data_w=line_at.get(start), title=title))
    note = tag("p", "The picture of this page cannot be drawn.", class_="doc-note", role="status")
    sheet = tag("div", picture, over, note, class_="doc-sheet")
    return tag("div", sheet, class_="doc-scroll doc-picture", tabindex=0, aria_label="Picture", role="region")


def _line_list(lines: Record, edits: bool) -> SafeHtml:
    shown = [_line_form(line, lines["page_version"], edits) for line in lines["lines"][:MOST_LINES]]
    more = len(lines["lines"]) - MOST_LINES
    rest = quiet_text(f"{more} more lines are not shown here.") if more > 0 else None
    items = tag("ol", shown, class_="review-lines") if shown else quiet_text("No text on this page.")
    return tag("div", items, rest, class_="doc-scroll", tabindex=0, aria_label="Lines", role="region")


def _line_form(line: Record, version: str, edits: bool) -> SafeHtml:
    sure = line["confidence"]
    class_ = "review-line" + (" weak" if line["weak"] else "")
    level = confidence_class(float(sure)) if sure is not None else ""
    badge = tag("span", "–" if sure is None else format_percent(sure), class_=f"review-sure {level}".strip())
    number = line["line"]
    if not edits:
        return tag("li", badge, tag("span", line["text"]), class_=class_, data_w=number)
    told = {"name": "text", "id": f"line-{number}", "type": "text", "aria_label": f"Line {number + 1}"}
    most = max(LONGEST, 2 * len(line["text"]))
    field = tag("input", value=line["text"], maxlength=most, required=True, **told)
    seen = tag("input", type="hidden", name="page_version", value=version)
    save = tag("button", "Save", class_="aos-button small", data_act="correct", value=str(number))
    form = tag("form", badge, field, seen, save, class_="review-form")
    return tag("li", form, class_=class_, data_w=number)


def _fields_card(lines: Record) -> SafeHtml | None:
    """What was extracted from the page and is in doubt."""
    if not lines["fields"]:
        return None
    shown = [tag("li", field_text(one)) for one in lines["fields"]]
    return titled_card("Extracted values in doubt", tag("ul", shown, class_="review-history"))


def _history_card(history: Record) -> SafeHtml | None:
    if not history["items"]:
        return None
    entries = [_history_entry(one) for one in history["items"]]
    return titled_card("Corrections", tag("ul", entries, class_="review-history"))


def _history_entry(one: Record) -> SafeHtml:
    who = one["user_email"] or "somebody who is gone"
    lost = quiet_span(" Its line was not found again in the present reading.") if one["unplaced"] else None
    when = quiet_text(format_moment(one["at"]), f", {who}, line {one['line'] + 1}.", lost)
    return tag("li", when, tag("del", one["text_before"]), " → ", tag("ins", one["text_after"]))


def queue_address(filters: Mapping[str, str]) -> str:
    """Address of the queue with its filters."""
    return HERE + (f"?{urlencode(filters)}" if filters else "")
