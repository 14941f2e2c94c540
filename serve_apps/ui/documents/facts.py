"""Facts on one document: versions, pages by the confidence of their reading, agents, failures, deletion."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.documents.viewer import confidence_class
from serve_apps.ui.kit.blocks import (
    data_table,
    empty_card,
    empty_state,
    link_to,
    page_heading,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.caveats import caveat_kinds, caveat_note, in_short
from serve_apps.ui.kit.formats import format_count, format_moment, format_number, format_percent, format_size
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.sessions import Role

HERE: Final = f"{PREFIX}/documents"
DECODED: Final = frozenset({"text", "markdown", "code", "csv", "html", "email"})  # whose bytes may be in any encoding
ENCODINGS: Final = (
    "utf-8", "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859-2", "koi8-r",
    "cp437", "cp850", "mac-roman", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "utf-16",
)  # fmt: skip


def document_address(document: str, **more: object) -> str:
    """Of a document in the console, with what of `more` is not None."""
    return f"{HERE}?{urlencode({'id': document, **{k: v for k, v in more.items() if v is not None}})}"


def document_heading(document: Record, role: Role) -> SafeHtml:
    """Name and state, and what may be done."""
    pages = document["pages"]
    said = (
        f" {document['file_type']}, {format_size(document['file_size'])}, "
        f"{format_number(pages['stored'])} of {format_count(pages['expected'], 'page')}, "
        f"{format_count(document['chunk_count'], 'passage')}, added "
    )
    about = state_badge(document["status"]), said, format_moment(document["upload_date"], relative=True)
    actions = [tag("a", "All documents", href=HERE, class_="aos-button")]
    if role.reaches(Role.DEVELOPER):
        title = "Read its file again, cut and embed it; readers have this version until that is done"
        actions.append(_action_button("Process again", "process", id_="process", title=title))
    if role.reaches(Role.OPERATOR):
        actions.append(_action_button("Delete …", "impact", id_="impact"))
    caveats = caveat_note("What is missing, or may be wrong, in its text:", document.get("caveats") or ())
    return join_html(page_heading(document["filename"], about, *actions), _failure_notice(document), caveats)


def _action_button(
    label: str, what: str, value: str = "", *, id_: str, kind: str = "", title: str | None = None
) -> SafeHtml:
    class_ = f"aos-button {kind}".strip()
    return tag("button", label, type="button", class_=class_, data_act=what, value=value, id=id_, title=title)


def _failure_notice(document: Record) -> SafeHtml | None:
    failure = document["failure"]
    if not failure:
        return None
    title = f"Not all of it could be read: {str(failure.get('reason')).replace('_', ' ')}."
    fix = tag("p", tag("b", "What to try: "), document["fix"]) if document["fix"] else None
    detail = tag("p", str(failure.get("detail") or ""))
    return tag("div", tag("strong", title), detail, fix, class_="aos-problem", role="note")


def pages_card(document: Record, version: str, lines: Record, first: int, at: int) -> SafeHtml:
    """Every page as a small field in the colour of its confidence; pages that failed are crossed."""
    total = lines["total"]
    fields = [_page_cell(document["id"], version, one, at) for one in lines["items"]]
    last = first + len(fields)
    earlier, later = (document_address(document["id"], version=version, page=one) for one in (first, last + 1))
    back = link_to("← earlier", earlier) if first else None
    on = link_to("later →", later) if last < total else None
    more = quiet_text(back, f" pages {first + 1:,} to {last:,} of {total:,} ", on) if total > len(fields) else None
    return titled_card("Pages", tag("nav", fields, class_="doc-strip", aria_label="Pages by confidence"), more)


def _page_cell(document: str, version: str, one: Record, at: int) -> SafeHtml:
    failed, sure = one["failure"], one["confidence"]
    if failed:
        class_, said = "failed", f"failed: {str(failed.get('reason')).replace('_', ' ')}"
    else:
        class_ = "native" if sure is None else confidence_class(sure)
        said = f"{one['engine']}" + (f", {format_percent(sure)} sure" if sure is not None else "")
    if doubtful := in_short(one):
        class_, said = f"{class_} doubtful", f"{said}, {doubtful.lower()}"
    number = one["number"]
    told = {"title": f"Page {number}: {said}", "aria_label": f"Page {number}: {said}"}
    where, here = document_address(document, version=version, page=number), "page" if number == at else None
    return tag("a", format_number(number), href=where, class_=class_, **told, aria_current=here)


def failed_card(document: str, version: str, failed: Record, ingest: str | None) -> SafeHtml | None:
    """Pages that could not be read, with what mends that."""
    if not failed["total"]:
        return None
    rows = []
    for one in failed["items"]:
        where = document_address(document, version=version, page=one["number"])
        detail = tag("div", one["failure"].get("detail"), class_="quiet")
        why = tag("div", str(one["failure"].get("reason")).replace("_", " "), detail)
        rows.append((link_to(f"Page {one['number']:,}", where), why, one["fix"]))
    more = f"{failed['total'] - len(rows):,} more failed." if failed["total"] > len(rows) else None
    retry = quiet_text(more, " Retry them with their job on ", link_to("Ingest", ingest), ".")
    return titled_card("Pages that failed", data_table(("Page", "Reason", "What to try"), rows), retry)


def versions_card(document: str, versions: Sequence[Record], shown: str | None) -> SafeHtml:
    """Versions that were read under this name, newest first."""
    if not versions:
        return empty_card("Versions", "Nothing was read yet.", "A version appears once its file was opened.")
    rows = []
    for one in versions:
        name = link_to(format_moment(one["created_at"]), document_address(document, version=one["id"]))
        marks = [state_badge("readers see this", "green")] if one["current"] else []
        marks += [state_badge("shown", "blue")] if one["id"] == shown else []
        state = f"{format_number(one['stored'])} of {format_number(one['page_count'])}"
        state += f", {format_number(one['failed'])} failed" if one["failed"] else ""
        name, hash_ = tag("div", name, " ", *[(one, " ") for one in marks]), tag("code", one["file_hash"][:12])
        rows.append((name, state, format_number(one["chunks"]), format_size(one["file_size"]), hash_))
    return titled_card("Versions", data_table(("Read", "Pages", "Passages", "Size", "SHA-256"), rows, numbers=(2, 3)))


def agents_card(console: ConsoleContext, document: Record, agents: Sequence[Record], role: Role) -> SafeHtml:
    """Agents that search it, and those that could."""
    linked = {one["id"] for one in document["agents"]}
    may = role.reaches(Role.DEVELOPER)
    rows: list[SafeHtml] = []
    for one in document["agents"]:
        title = f"{one['name']} no longer searches it"
        off = _action_button("Unlink", "unlink", one["id"], id_=f"unlink-{one['id']}", title=title) if may else None
        rows.append(tag("li", link_to(one["name"], console.link("agents", id=one["id"])), off))
    for one in agents:
        if one["whole_workspace"] and one["id"] not in linked:
            link = link_to(one["name"], console.link("agents", id=one["id"]))
            rows.append(tag("li", link, quiet_span("reads the whole workspace")))
    todo = "Link it to one below." if may else "Somebody who may build agents links it."
    shown = tag("ul", rows, class_="doc-lines") if rows else empty_state("No agent searches it.", todo)
    free = [one for one in agents if one["id"] not in linked and not one["whole_workspace"]]
    options = [tag("option", one["name"], value=one["id"]) for one in free]
    choice = tag("select", options, name="agent", aria_label="Agent to link it to", id="agent")
    form = tag("form", choice, _action_button("Link", "link", id_="link"), class_="doc-inline")
    return titled_card("Agents that search it", shown, form if may and free else None)


def origin_card(document: Record) -> SafeHtml:
    """Origin of the document, and who may see it."""
    source = document["source_type"]
    rows = [
        ("Part of", _container_link(document)),
        ("Holds", _members_link(document)),
        ("Origin", document["origin"]),
        ("Came by", "scan of a folder" if source == "folder" else source),
        ("Read", format_moment(document["processed_date"])),
        ("Tags", ", ".join(document["tags"]) or None),
        ("Description", document["description"] or None),
        ("Id", tag("code", document["id"])),
    ]
    pairs = [(tag("dt", name), tag("dd", value)) for name, value in rows if value]
    return titled_card("About", tag("dl", pairs, class_="doc-pairs"))


def readers_card(document: Record, role: Role) -> SafeHtml:
    """Who may see the document, and a form to change it; a file of an archive or letter follows that."""
    shown = tag("p", ", ".join(document["readers"]) or "Everybody in the workspace.", class_="doc-gap")
    if document.get("parent_id"):
        return titled_card("May be seen by", shown, tag("p", "As what it came out of."))
    if not role.reaches(Role.OPERATOR):
        return titled_card("May be seen by", shown)
    about = "group:finance, user:ann@acme.example, role:operator; empty for everybody in the workspace"
    known = {"name": "readers", "id": "readers", "placeholder": about, "value": ", ".join(document["readers"])}
    box = tag("input", **known, maxlength=4000, aria_label=f"Who may see it: {about}")
    form = tag("form", box, _action_button("Change", "readers", id_="change-readers"), class_="doc-inline")
    return titled_card("May be seen by", shown, form)


def class_card(document: Record, role: Role) -> SafeHtml:
    """The class of data that the document is of, and a form to change it by hand."""
    by = {"hand": "by hand", "policy": "by the rules of a policy"}.get(
        document.get("classified_by") or "", "not yet looked at"
    )
    shown = tag("p", f"{document.get('classification') or 'None'}, {by}.", class_="doc-gap")
    if not role.reaches(Role.OPERATOR):
        return titled_card("Class of data", shown)
    known = {"name": "classification", "id": "classification", "value": document.get("classification") or ""}
    about = "confidential; empty for what the rules say"
    box = tag("input", **known, placeholder=about, maxlength=100, aria_label=f"Its class of data: {about}")
    form = tag("form", box, _action_button("Set class", "classify", id_="change-class"), class_="doc-inline")
    return titled_card("Class of data", shown, form)


def _container_link(document: Record) -> SafeHtml | None:
    parent = document.get("parent_id")
    return link_to(document["parent_filename"] or "its archive", document_address(parent)) if parent else None


def _members_link(document: Record) -> SafeHtml | None:
    members = document.get("members")
    return link_to(format_count(members, "document"), f"{HERE}?parent={document['id']}") if members else None


def encoding_card(document: Record, role: Role) -> SafeHtml | None:
    """Character encoding of a text, and a form to choose another one."""
    chosen, doubted = document["metadata"].get("encoding"), "encoding_unsure" in caveat_kinds(document)
    if not (document["file_type"] in DECODED or chosen or doubted):
        return None
    said = f"It is read as {chosen}, as somebody set it." if chosen else "Its bytes decide."
    if not role.reaches(Role.DEVELOPER):
        return titled_card("Encoding", tag("p", said))
    names = tag("datalist", [tag("option", value=one) for one in ENCODINGS], id="encodings")
    known = {"name": "encoding", "id": "encoding", "list": "encodings", "placeholder": "auto", "value": chosen or ""}
    box = tag("input", **known, maxlength=40, aria_label="Encoding to read it in; empty: as its bytes say")
    form = tag("form", box, names, _action_button("Read again", "decode", id_="decode"), class_="doc-inline")
    return titled_card("Encoding", tag("p", said, class_="doc-gap"), form)


def impact_card(document: Record, impact: Record) -> SafeHtml:
    """Preview of what a deletion would take along."""
    agents = ", ".join(impact["agents"])
    stays = "not the file: it stays in its folder, and comes back with the next scan"
    counts = [
        f"{format_count(impact['versions'], 'version')} with {format_count(impact['pages'], 'page')} of text",
        f"{format_count(impact['chunks'], 'passage')} and {format_count(impact['embeddings'], 'vector')}: "
        "nobody finds it any more",
        f"its links to {agents}" if agents else "no links to agents",
        *([f"{format_count(impact['members'], 'document')} that came out of it"] if impact.get("members") else []),
        "the file itself" if document["source_type"] == "upload" else stays,
    ]
    keep = tag("a", "Keep it", href=document_address(document["id"]), class_="aos-button")
    delete = _action_button("Delete for good", "delete", id_="delete", kind="danger")
    inside = (
        tag("strong", f"Delete {document['filename']}? This goes with it, for good:"),
        tag("ul", [tag("li", one) for one in counts]),
        tag("div", delete, keep, class_="actions"),
    )
    return tag("div", inside, class_="aos-problem", role="alertdialog", aria_label="Delete this document")


def done_notice(text: SafeHtml | str) -> SafeHtml:
    """Notice of what was done."""
    return tag("div", text, class_="aos-good", role="status")
