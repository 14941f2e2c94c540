"""A page as it was read: its picture with the places of words over it, beside the text, word for word."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.documents.passage import LinkedPassage, PageWord, complete_passage, words_of
from serve_apps.ui.kit.blocks import empty_state
from serve_apps.ui.kit.caveats import caveat_note
from serve_apps.ui.kit.formats import format_duration, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX
from serve_apps.ui.pictures import picture_address

PICTURED: Final = frozenset({"pdf", "image"})
# Confidence from which on a word is of a class, the best first; the colours are in console.css.
LEVELS: Final = ((0.95, "c3", "95% and more"), (0.8, "c2", "80 to 95%"), (0.6, "c1", "60 to 80%"), (0.0, "c0", "less"))
SHARP: Final = 130
MOST_WORDS: Final = 6000


def page_viewer(page: Record, kind: str, passage: LinkedPassage, at: Mapping[str, object], pictured: bool) -> SafeHtml:
    """Picture, where there is one of this version, and text of one page; `at` stays in the address of other pages."""
    words = words_of(page["words"][:MOST_WORDS])
    passage = complete_passage(passage, words)
    drawn = kind in PICTURED and pictured
    read = _text_view(page["text"], words, passage)
    text = tag("div", read, class_="doc-text doc-scroll", tabindex=0, aria_label="Text")
    earlier = quiet_text("This is an earlier version: its text is kept, its picture is not shown. ")
    sheet = earlier if kind in PICTURED else None
    shown = [_picture_sheet(page, words, passage) if drawn else sheet, text if page["text"] else _no_text(page)]
    class_ = "doc-viewer boxes" + (" heat" if page["confidence"] is not None and words else "")
    bar, caveats = _viewer_bar(page, at, bool(words), drawn), caveat_note("On this page:", page.get("caveats") or ())
    pair, label = tag("div", shown, class_="doc-pair" if drawn else "doc-one"), f"Page {page['number']}"
    return tag("section", bar, caveats, pair, class_=class_, aria_label=label)


def confidence_class(confidence: float) -> str:
    """The class of a word by its confidence."""
    return next(name for least, name, _ in LEVELS if confidence >= least or name == "c0")


def _viewer_bar(page: Record, at: Mapping[str, object], words: bool, drawn: bool) -> SafeHtml:
    number, count = page["number"], page["page_count"]
    back = _step_link("←", "Previous page", number - 1, at) if number > 1 else _disabled_step("←")
    on = _step_link("→", "Next page", number + 1, at) if number < count else _disabled_step("→")
    box = tag("input", name="page", type="number", min=1, max=count, value=number, id="to-page")
    kept = [tag("input", type="hidden", name=name, value=str(value)) for name, value in at.items() if value]
    asked = tag("label", "Page ", box), kept, quiet_span(f"of {count:,}")
    jump = tag("form", asked, class_="doc-jump", method="get", action=f"{PREFIX}/documents")
    sure = page["confidence"]
    how = join_html(
        f"Read by {page['engine']}" if page["engine"] else "Not read",
        f", {format_percent(sure)} sure" if sure is not None else None,
        f", in {format_duration(page['ms'] / 1000)}",
    )
    legend = [tag("span", tag("i", class_=name), said) for _, name, said in LEVELS]
    heat = tag("span", legend, class_="doc-legend", title="How sure the engine was of a word")
    switches = [_layer_switch("boxes", "Word boxes")] if words and drawn else []
    switches += [_layer_switch("heat", "Confidence"), heat] if sure is not None and words else []
    steps = tag("div", back, jump, on, class_="doc-steps")
    return tag("div", steps, quiet_span(how), tag("div", switches, class_="doc-switches"), class_="doc-bar")


def _step_link(sign: str, label: str, number: int, at: Mapping[str, object]) -> SafeHtml:
    asked = urlencode({name: value for name, value in {**at, "page": number}.items() if value})
    told = {"aria_label": label, "title": label, "id": label.lower().replace(" ", "-")}
    return tag("a", sign, href=f"{PREFIX}/documents?{asked}", class_="aos-button", **told)


def _disabled_step(sign: str) -> SafeHtml:
    return tag("span", sign, class_="aos-button", aria_disabled="true")


def _layer_switch(name: str, label: str) -> SafeHtml:
    return tag("label", tag("input", type="checkbox", checked=True, data_shows=name, id=f"shows-{name}"), " ", label)


def _picture_sheet(page: Record, words: Sequence[PageWord], passage: LinkedPassage) -> SafeHtml:
    number = page["number"]
    picture = tag("img", src=picture_address(page["document_id"], number, SHARP), alt=f"Page {number} as it looks")
    over = []
    for n, word in enumerate(words):
        class_, title = f"w {confidence_class(word.confidence)}", f"{word.text} · {format_percent(word.confidence)}"
        over.append(tag("i", class_=class_, style=box_style(word.box), data_w=n, title=title))
    marks = [tag("b", class_="doc-passage", style=box_style(box), title="The passage") for box in passage.boxes]
    note = tag("p", "The picture of this page cannot be drawn.", class_="doc-note", role="status")
    sheet = tag("div", picture, marks, over, note, class_="doc-sheet")
    return tag("div", sheet, class_="doc-scroll doc-picture", tabindex=0, aria_label="Picture", role="region")


def box_style(box: tuple[float, float, float, float]) -> str:
    """The place of a rectangle, given in fractions, over the picture."""
    x0, y0, x1, y1 = (one * 100 for one in box)
    return f"left:{x0:.2f}%;top:{y0:.2f}%;width:{x1 - x0:.2f}%;height:{y1 - y0:.2f}%"


def _text_view(text: str, words: Sequence[PageWord], passage: LinkedPassage) -> SafeHtml:
    """The text with its words, each with the number of its box, and with the passage marked."""
    parts: list[SafeHtml] = []
    at = 0
    for n, word in enumerate(words):
        end = word.start + len(word.text)
        if word.start < at or end > len(text):
            continue  # boxes of a reading that overlaps, as in tables: the first of them has the text
        parts += _plain_parts(text, at, word.start, passage)
        marked = " doc-passage" if passage.marks(word.start, end) else ""
        class_ = f"w {confidence_class(word.confidence)}{marked}"
        parts.append(tag("span", text[word.start : end], class_=class_, data_w=n, tabindex=0 if n == 0 else -1))
        at = end
    parts += _plain_parts(text, at, len(text), passage)
    return join_html(*parts)


def _plain_parts(text: str, start: int, end: int, passage: LinkedPassage) -> list[SafeHtml]:
    """Text between words, cut where the passage begins and ends."""
    if start >= end:
        return []
    cuts = [start, *passage.cuts(start, end), end]
    return [
        tag("mark", text[a:b], class_="doc-passage") if passage.marks(a, b) else join_html(text[a:b])
        for a, b in pairwise(cuts)
    ]


def _no_text(page: Record) -> SafeHtml:
    if failure := page["failure"]:
        what = f"This page could not be read: {str(failure.get('reason')).replace('_', ' ')}."
        return empty_state(what, str(failure.get("detail") or "Retry its job on the page Ingest."))
    return empty_state("No text on this page.", "It is blank, or holds only pictures in which no letters were found.")
