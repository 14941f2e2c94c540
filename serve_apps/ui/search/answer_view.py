"""An answer with its citations, and the chain each of its claims hangs on: down to the job that read the page."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.blocks import Colour, badge, card, link, table
from serve_apps.ui.kit.caveats import badges, doubts, note
from serve_apps.ui.kit.formats import many, moment, percent
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.pictures import picture_address

MODES: Final[Mapping[str, tuple[str, Colour]]] = {
    "extractive": ("word for word", "green"),
    "generated": ("by a model, checked", "blue"),
    "not_found": ("no answer", "amber"),
}
DPI: Final = 60
FOUND: Final = "Found by its words: the model quoted nothing for it."
Citation = Mapping[str, Any]


def answer_view(desk: Desk, answer: Mapping[str, Any], why: Mapping[str, Any]) -> Html:
    """The answer with its conflicts, its dropped claims, and the evidence chain of each claim."""
    said = join(_said(desk, answer), _conflicts(desk, answer, why), _dropped(answer["dropped"]))
    return join(said, chains(desk, why))


def _said(desk: Desk, answer: Mapping[str, Any]) -> Html:
    words, colour = MODES.get(answer["mode"], (answer["mode"], "grey"))
    aside = tag("span", badge(words, colour), f" {answer['model']}" if answer["model"] else "")
    fallback = (
        tag("p", badge("fallback", "amber"), " ", answer["fallback"], class_="lab-fallback")
        if answer["fallback"]
        else None
    )
    if answer["abstained"]:
        body = tag(
            "div",
            tag("strong", "The documents do not say it."),
            tag("p", answer["abstained"]),
            tag("p", "Ask in other words, or upload what should answer it; the search shows what came near."),
            class_="aos-empty",
        )
        return card("Answer", body, fallback, aside=aside)
    cited = {one["n"]: one for one in answer["citations"]}
    claims = [
        tag("p", claim["text"], [tag("sup", _number(desk, cited.get(n), n)) for n in claim["citations"]])
        for claim in answer["claims"]
    ]
    said = tag("div", claims or tag("p", answer["answer"]), class_="lab-answer")
    return card("Answer", said, _doubts(answer["citations"]), fallback, aside=aside)


def _doubts(citations: Sequence[Citation]) -> Html | None:
    """Caveats of the cited pages, deduplicated."""
    told = [{**one, "pages": [cited["page"]]} for cited in citations for one in doubts(cited)]
    once = {(one["kind"], one["detail"], one["pages"][0]): one for one in told}
    return note("Of the pages that are cited:", list(once.values()))


def _number(desk: Desk, cited: Citation | None, n: int) -> Html:
    return link(f"[{n}]", _place(desk, cited) if cited else None)


def _place(desk: Desk, cited: Citation) -> str | None:
    if cited["document_id"] is None:
        return None
    boxes = ";".join(",".join(f"{edge:.4f}" for edge in box[1:]) for box in cited["boxes"] if box[0] == cited["page"])
    return desk.link("documents", id=cited["document_id"], page=cited["page"], boxes=boxes or None)


def _conflicts(desk: Desk, answer: Mapping[str, Any], why: Mapping[str, Any]) -> Html | None:
    if not answer["conflicts"]:
        return None
    cited = {one["n"]: one for one in why["citations"]}
    rows = [
        (
            tag("b", stated["value"] or "–"),
            link(_source(cited.get(stated["n"])), _place(desk, cited[stated["n"]]) if stated["n"] in cited else None),
            f"[{stated['n']}]",
        )
        for row in answer["conflicts"]
        for stated in row
    ]
    return card(
        "The sources contradict each other",
        table(("What is said", "Where", "Citation"), rows),
        aside=badge("look at both", "amber"),
    )


def _source(cited: Citation | None) -> str:
    if cited is None or cited["filename"] is None:
        return "a passage you may not read"
    return f"{cited['filename']}, p. {cited['page']}"


def _dropped(dropped: Sequence[Mapping[str, str]]) -> Html | None:
    if not dropped:
        return None
    rows = [(one["text"], one["why"]) for one in dropped]
    return card("Left out, because nothing supports it", table(("A model wrote", "Why it is not shown"), rows))


def chains(desk: Desk, why: Mapping[str, Any]) -> Html:
    """Every claim with a row of stations for each of its citations."""
    if not why["claims"]:
        return Html("")
    cited = {one["n"]: one for one in why["citations"]}
    shown = []
    for claim in why["claims"]:
        links = [_chain(desk, cited[n]) for n in claim["citations"] if n in cited]
        head = tag(
            "div",
            badge("supported", "green") if claim["supported"] else badge("not supported", "red"),
            " ",
            tag("b", claim["text"] or "This claim rests on a passage you may not read."),
            tag("p", FOUND, class_="quiet") if claim["basis"] == "attributed" else "",
            class_="lab-claim",
        )
        shown.append(tag("li", head, links))
    behind = why["corpus_now"] - why["corpus_version"]
    about = (
        "The documents have not changed since."
        if not behind
        else f"The documents changed {many(behind, 'time')} since this answer."
    )
    index = f"Generation {why['generation']}. " if why["generation"] is not None else ""
    return card("Why it says that", tag("p", index, about, class_="quiet"), tag("ol", shown, class_="lab-why"))


def _chain(desk: Desk, one: Citation) -> Html:
    if one["withheld"]:
        return tag("div", _station("Passage", badge("withheld", "amber"), one["withheld"]), class_="lab-chain")
    chunk, job = one["chunk"], one["job"]
    passage = _station(
        f"Passage [{one['n']}]", tag("q", one["quote"] or ""), _chunk_place(chunk) if chunk else None, kind="quote"
    )
    page = _station("Page", link(f"{one['filename']}, p. {one['page']}", _place(desk, one)), _thumb(one))
    file = _station(
        "File",
        tag("code", (one["file_hash"] or "–")[:12], title=f"SHA-256 {one['file_hash']}"),
        badge("current version", "green") if one["is_current"] else badge("an older version", "amber"),
    )
    if job is None:
        made = _station("Job", "not known any more")
    else:
        made = _station(
            "Job",
            link(job["kind"], desk.link("ingest", job=job["id"])),
            badge(job["state"]),
            moment(job["finished_at"]),
        )
    return tag("div", passage, page, _engine(one), file, made, class_="lab-chain")


def _chunk_place(chunk: Mapping[str, Any]) -> str:
    headings = " › ".join(chunk["headings"] or [])
    number = f"chunk {chunk['index'] + 1}" if chunk["index"] is not None else "cut anew since"
    return f"{number}: {headings}" if headings else number


def _engine(one: Citation) -> Html:
    sure = one["ocr_confidence"]
    read = (
        badge(f"{percent(sure)} sure", "green" if sure >= 0.9 else "amber")
        if sure is not None
        else tag("small", "text of the file itself")
    )
    tried = [attempt["engine"] for attempt in one["attempts"] or [] if not attempt.get("kept")]
    also = tag("small", f"tried before: {', '.join(tried)}") if tried else None
    when = tag("small", moment(one["read_at"]))
    return _station("Read by", tag("b", one["engine"] or "–"), read, *badges(one), also, when)


def _station(title: str, *inside: Html | str | None, kind: str = "") -> Html:
    return tag("div", tag("small", title, class_="title"), inside, class_=f"station {kind}".strip())


def _thumb(one: Citation) -> Html | None:
    """The page in small, with the quoted place marked; only where it has places."""
    boxes = [box for box in one["boxes"] if box[0] == one["page"]]
    if not boxes or one["document_id"] is None:
        return None
    marks = [
        tag("i", style=f"left:{x0:.2%};top:{y0:.2%};width:{x1 - x0:.2%};height:{y1 - y0:.2%}")
        for _, x0, y0, x1, y1 in boxes
    ]
    picture = tag(
        "img", src=picture_address(one["document_id"], one["page"], DPI), alt=f"Page {one['page']}", loading="lazy"
    )
    return tag("span", picture, marks, class_="lab-thumb")
