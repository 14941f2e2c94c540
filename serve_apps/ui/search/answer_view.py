"""An answer with its citations, and the chain each of its claims hangs on: down to the job that read the page."""

from collections.abc import Mapping, Sequence
from typing import Final

from serve_apps.ui.kit.blocks import Colour, data_table, link_to, state_badge, titled_card
from serve_apps.ui.kit.caveats import caveat_badges, caveat_note, serious_caveats
from serve_apps.ui.kit.formats import format_count, format_moment, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, svg_image, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.pictures import picture_address
from serve_apps.ui.search.passage_view import box_query

MODES: Final[Mapping[str, tuple[str, Colour]]] = {
    "extractive": ("word for word", "green"),
    "generated": ("by a model, checked", "blue"),
    "not_found": ("no answer", "amber"),
}
DPI: Final = 60
FOUND: Final = "Found by its words: the model quoted nothing for it."
Citation = Record


def answer_view(console: ConsoleContext, answer: Record, why: Record, picture: str | None = None) -> SafeHtml:
    """The answer with its conflicts, its dropped claims, and the evidence chain of each claim.

    `picture`: its chart as SVG.
    """
    said = join_html(
        _answer_card(console, answer, picture), _conflicts_card(console, answer, why), _dropped_card(answer["dropped"])
    )
    return join_html(said, _evidence_chains(console, why))


def _answer_card(console: ConsoleContext, answer: Record, picture: str | None) -> SafeHtml:
    words, colour = MODES.get(answer["mode"], (answer["mode"], "grey"))
    aside = tag("span", state_badge(words, colour), f" {answer['model']}" if answer["model"] else "")
    fell = tag("p", state_badge("fallback", "amber"), " ", answer["fallback"], class_="lab-fallback")
    fallback = fell if answer["fallback"] else None
    if answer["abstained"]:
        todo = "Ask in other words, or upload what should answer it; the search shows what came near."
        said = tag("strong", "The documents do not say it.")
        body = tag("div", said, tag("p", answer["abstained"]), tag("p", todo), class_="aos-empty")
        return titled_card("Answer", body, fallback, aside=aside)
    places = {one["n"]: _citation_address(console, one) for one in answer["citations"]}
    claims = [
        tag("p", claim["text"], [tag("sup", link_to(f"[{n}]", places.get(n))) for n in claim["citations"]])
        for claim in answer["claims"]
    ]
    said = tag("div", claims or tag("p", answer["answer"]), class_="lab-answer")
    calculation = _calculation_note(answer["calculation"])
    drawn = _chart_picture(answer["chart"], picture) if answer.get("chart") and picture else None
    return titled_card("Answer", said, drawn, calculation, _cited_doubts(answer["citations"]), fallback, aside=aside)


def _chart_picture(chart: Record, picture: str) -> SafeHtml:
    """The chart with words for who does not see it."""
    told = "; ".join(f"{label}: {value:g}" for label, value in chart["points"])
    return svg_image(picture, f"{chart['measure']} by {chart['label']}. {told}", "lab-picture")


def _calculation_note(calculation: Record | None) -> SafeHtml | None:
    """The query of a calculated answer, and what it ran over."""
    if calculation is None:
        return None
    left_out = calculation["totals_left_out"]
    skipped = f" {format_count(left_out, 'row')} that sum others up left out." if left_out else ""
    about = (
        f"Calculated from {format_count(calculation['rows'], 'row')} of {', '.join(calculation['documents'])}.{skipped}"
    )
    notes = [tag("p", note) for note in calculation["notes"]]
    return tag("div", notes, tag("details", tag("summary", about), tag("pre", calculation["sql"])))


def _cited_doubts(citations: Sequence[Citation]) -> SafeHtml | None:
    """Caveats of the cited pages, deduplicated."""
    told = [{**one, "pages": [cited["page"]]} for cited in citations for one in serious_caveats(cited)]
    once = {(one["kind"], one["detail"], one["pages"][0]): one for one in told}
    return caveat_note("Of the pages that are cited:", list(once.values()))


def _citation_address(console: ConsoleContext, cited: Citation) -> str | None:
    return None if cited["document_id"] is None else console.link("documents", **box_query(cited))


def _conflicts_card(console: ConsoleContext, answer: Record, why: Record) -> SafeHtml | None:
    if not answer["conflicts"]:
        return None
    cited = {one["n"]: one for one in why["citations"]}
    rows = []
    for stated in (one for row in answer["conflicts"] for one in row):
        n = stated["n"]
        where = _citation_address(console, cited[n]) if n in cited else None
        known = n in cited and cited[n]["filename"] is not None
        source = f"{cited[n]['filename']}, p. {cited[n]['page']}" if known else "a passage you may not read"
        rows.append((tag("b", stated["value"] or "–"), link_to(source, where), f"[{n}]"))
    shown = data_table(("What is said", "Where", "Citation"), rows)
    return titled_card("The sources contradict each other", shown, aside=state_badge("look at both", "amber"))


def _dropped_card(dropped: Sequence[Mapping[str, str]]) -> SafeHtml | None:
    if not dropped:
        return None
    shown = data_table(("A model wrote", "Why it is not shown"), [(one["text"], one["why"]) for one in dropped])
    return titled_card("Left out, because nothing supports it", shown)


def _evidence_chains(console: ConsoleContext, why: Record) -> SafeHtml:
    if not why["claims"]:
        return SafeHtml("")
    cited = {one["n"]: one for one in why["citations"]}
    shown = []
    for claim in why["claims"]:
        links = [_evidence_chain(console, cited[n]) for n in claim["citations"] if n in cited]
        badge = state_badge("supported", "green") if claim["supported"] else state_badge("not supported", "red")
        text = tag("b", claim["text"] or "This claim rests on a passage you may not read.")
        found = quiet_text(FOUND) if claim["basis"] == "attributed" else ""
        head = tag("div", badge, " ", text, found, class_="lab-claim")
        shown.append(tag("li", head, links))
    behind = why["corpus_now"] - why["corpus_version"]
    changed = f"The documents changed {format_count(behind, 'time')} since this answer."
    about = changed if behind else "The documents have not changed since."
    index = f"Generation {why['generation']}. " if why["generation"] is not None else ""
    return titled_card("Why it says that", quiet_text(index, about), tag("ol", shown, class_="lab-why"))


def _evidence_chain(console: ConsoleContext, one: Citation) -> SafeHtml:
    if one["withheld"]:
        withheld = _chain_station("Passage", state_badge("withheld", "amber"), one["withheld"])
        return tag("div", withheld, class_="lab-chain")
    job, place = one["job"], _chunk_place(one["chunk"]) if one["chunk"] else None
    passage = _chain_station(
        f"Passage [{one['n']}]", tag("q", one["quote"] or ""), place, _corrections_since(one), kind="quote"
    )
    where = link_to(f"{one['filename']}, p. {one['page']}", _citation_address(console, one))
    page = _chain_station("Page", where, _page_thumbnail(one))
    hash_ = tag("code", (one["file_hash"] or "–")[:12], title=f"SHA-256 {one['file_hash']}")
    current = state_badge("current version", "green")
    file = _chain_station("File", hash_, current if one["is_current"] else state_badge("an older version", "amber"))
    made = _chain_station("Job", "not known any more")
    if job is not None:
        link = link_to(job["kind"], console.link("ingest", job=job["id"]))
        made = _chain_station("Job", link, state_badge(job["state"]), format_moment(job["finished_at"]))
    return tag("div", passage, page, _engine_station(one), file, made, class_="lab-chain")


def _corrections_since(one: Citation) -> SafeHtml | None:
    """A passage that somebody has corrected since; the answer's own words may be of the text before."""
    found = one.get("corrections") or ()
    if not found:
        return None
    before = tag("small", "It said: ", tag("q", found[0]["text_before"]))
    return tag("div", state_badge("corrected since", "amber"), before)


def _chunk_place(chunk: Record) -> str:
    headings = " › ".join(chunk["headings"] or [])
    number = f"chunk {chunk['index'] + 1}" if chunk["index"] is not None else "cut anew since"
    return f"{number}: {headings}" if headings else number


def _engine_station(one: Citation) -> SafeHtml:
    sure = one["ocr_confidence"]
    read = tag("small", "text of the file itself")
    if sure is not None:
        read = state_badge(f"{format_percent(sure)} sure", "green" if sure >= 0.9 else "amber")
    tried = [attempt["engine"] for attempt in one["attempts"] or [] if not attempt.get("kept")]
    also = tag("small", f"tried before: {', '.join(tried)}") if tried else None
    when = tag("small", format_moment(one["read_at"]))
    return _chain_station("Read by", tag("b", one["engine"] or "–"), read, *caveat_badges(one), also, when)


def _chain_station(title: str, *inside: SafeHtml | str | None, kind: str = "") -> SafeHtml:
    return tag("div", tag("small", title, class_="title"), inside, class_=f"station {kind}".strip())


def _page_thumbnail(one: Citation) -> SafeHtml | None:
    boxes = [box for box in one["boxes"] if box[0] == one["page"]]
    if not boxes or one["document_id"] is None:
        return None
    marks = [
        tag("i", style=f"left:{x0:.2%};top:{y0:.2%};width:{x1 - x0:.2%};height:{y1 - y0:.2%}")
        for _, x0, y0, x1, y1 in boxes
    ]
    source = picture_address(one["document_id"], one["page"], DPI)
    picture = tag("img", src=source, alt=f"Page {one['page']}", loading="lazy")
    return tag("span", picture, marks, class_="lab-thumb")
