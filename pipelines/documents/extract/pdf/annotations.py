"""Remarks and form fields of a PDF page: what people wrote on it, marked as theirs or beside its label."""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from lxml import etree

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.page_words import PageMapper
from pipelines.documents.layout.page_tokens import PageToken

_REMARKS = {
    raw.FPDF_ANNOT_TEXT,
    raw.FPDF_ANNOT_FREETEXT,
    raw.FPDF_ANNOT_HIGHLIGHT,
    raw.FPDF_ANNOT_UNDERLINE,
    raw.FPDF_ANNOT_SQUIGGLY,
    raw.FPDF_ANNOT_STRIKEOUT,
    raw.FPDF_ANNOT_STAMP,
    raw.FPDF_ANNOT_CARET,
    raw.FPDF_ANNOT_INK,
    raw.FPDF_ANNOT_LINE,
    raw.FPDF_ANNOT_SQUARE,
    raw.FPDF_ANNOT_CIRCLE,
    raw.FPDF_ANNOT_POLYGON,
    raw.FPDF_ANNOT_POLYLINE,
    raw.FPDF_ANNOT_REDACT,
}
_MARKING = {
    raw.FPDF_ANNOT_HIGHLIGHT: "on",
    raw.FPDF_ANNOT_UNDERLINE: "on",
    raw.FPDF_ANNOT_SQUIGGLY: "on",
    raw.FPDF_ANNOT_STRIKEOUT: "on the deleted words",
}
_HIDDEN = raw.FPDF_ANNOT_FLAG_HIDDEN
_NOT_SHOWN = _HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_PICTURED = {raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_WATERMARK, raw.FPDF_ANNOT_INK}
_LEAST_STAMP = 7.0  # points; less shows no word
_TYPED = {raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}
_TICKED = {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
_MARKED_WORDS = 12  # that a remark on a highlight repeats
_SAME_ROW = 0.4  # of the lower of two boxes
_LABEL_ABOVE = 0.04  # of the page's height
_XFA_DATA = "{http://www.xfa.org/schema/xfa-data/1.0/}data"
_PLACEHOLDER = "If this message is not eventually replaced"


@dataclass(frozen=True, slots=True)
class PageNote:
    """An annotation or a form field's value that somebody added."""

    text: str  # as it goes into the page's text
    box: Box  # where it is, on the page
    field: bool = False  # it is a form field's value; else a remark
    tick: bool = False  # it is a check box or a radio button, which stands before its label


@dataclass(frozen=True, slots=True)
class PageNotes:
    """The notes of a page, the names of files that are pinned to it, and the places of stamps that hold no words."""

    notes: tuple[PageNote, ...] = ()
    files: tuple[str, ...] = ()
    stamps: tuple[Box, ...] = ()  # and of other annotations of which there is but a picture
    ink: tuple[Box, ...] = ()  # of lines drawn by hand: writing, or marks


def read_notes(page: pdfium.PdfPage, form: pdfium.PdfFormEnv | None, tokens: Sequence[PageToken]) -> PageNotes:
    """Everything that was written onto the page as a remark or into a form."""
    count = raw.FPDFPage_GetAnnotCount(page)
    if count <= 0:
        return PageNotes()
    mapper = PageMapper(page)
    notes: list[PageNote] = []
    files: list[str] = []
    stamps: list[Box] = []
    ink: list[Box] = []
    for index in range(count):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            kind = raw.FPDFAnnot_GetSubtype(annotation)
            if raw.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
                continue
            if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
                files.append(_attachment_name(annotation))
            elif kind == raw.FPDF_ANNOT_WIDGET and form is not None:
                notes += _field_notes(form, annotation, mapper)
            elif kind in _REMARKS:
                notes += _remark_notes(annotation, kind, mapper, tokens)
            if _is_picture(annotation, kind, form) and (box := _annotation_box(annotation, mapper)):
                (ink if kind == raw.FPDF_ANNOT_INK else stamps).append(box)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return PageNotes(tuple(notes), tuple(files), tuple(stamps), tuple(ink))


def _is_picture(annotation: object, kind: int, form: pdfium.PdfFormEnv | None) -> bool:
    """True where it is drawn and holds no words: a stamp, a signature."""
    if kind == raw.FPDF_ANNOT_WIDGET and form is not None:
        pictured = raw.FPDFAnnot_GetFormFieldType(form, annotation) == raw.FPDF_FORMFIELD_SIGNATURE
    else:
        pictured = kind in _PICTURED and not _string_value(annotation, b"Contents").strip()
    rect = raw.FS_RECTF()
    raw.FPDFAnnot_GetRect(annotation, rect)
    large = min(abs(rect.right - rect.left), abs(rect.top - rect.bottom)) >= _LEAST_STAMP
    shown = not raw.FPDFAnnot_GetFlags(annotation) & _NOT_SHOWN
    return pictured and large and shown and _has_appearance(annotation)


def _has_appearance(annotation: object) -> bool:
    return int(raw.FPDFAnnot_GetAP(annotation, raw.FPDF_ANNOT_APPEARANCEMODE_NORMAL, None, 0)) > 2


def place_notes(tokens: Sequence[PageToken], notes: Sequence[PageNote]) -> tuple[PageToken, ...]:
    """The page's words with field values beside their labels, and remarks below everything, in the order they stand."""
    result = list(tokens)
    for note in sorted((note for note in notes if note.field), key=lambda note: (note.box.y0, note.box.x0)):
        _place_field(result, note)
    for note in sorted((note for note in notes if not note.field), key=lambda note: (note.box.y0, note.box.x0)):
        result += _note_tokens(note, "\n\n")
    return tuple(result)


def _remark_notes(annotation: object, kind: int, mapper: PageMapper, tokens: Sequence[PageToken]) -> Iterator[PageNote]:
    text = " ".join(_string_value(annotation, b"Contents").split())
    box = _annotation_box(annotation, mapper)
    if not text or box is None:
        return
    author = " ".join(_string_value(annotation, b"T").split())
    marked = ""
    if kind in _MARKING:
        boxes = _marked_boxes(annotation, mapper) or [box]
        words = [token.text for token in tokens if token.box and _middle_in(token.box, boxes)]
        more = " …" if len(words) > _MARKED_WORDS else ""
        if words:
            marked = f" {_MARKING[kind]} “{' '.join(words[:_MARKED_WORDS])}{more}”"
    yield PageNote(f"[Remark{' by ' + author if author else ''}{marked}: {text}]", box)


def _field_notes(form: pdfium.PdfFormEnv, annotation: object, mapper: PageMapper) -> Iterator[PageNote]:
    box = _annotation_box(annotation, mapper)
    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    if box is None:
        return
    if kind in _TICKED:
        yield PageNote("[x]" if raw.FPDFAnnot_IsChecked(form, annotation) else "[ ]", box, field=True, tick=True)
    elif kind in _TYPED:
        chosen = _chosen_options(form, annotation) if kind != raw.FPDF_FORMFIELD_TEXTFIELD else ""
        value = chosen or _read_utf16(
            lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size)
        )
        lines = [line for line in (" ".join(line.split()) for line in value.splitlines()) if line]
        if lines:
            yield PageNote("\n".join(lines), box, field=True)


def _chosen_options(form: pdfium.PdfFormEnv, annotation: object) -> str:
    labels = []
    for option in range(max(0, raw.FPDFAnnot_GetOptionCount(form, annotation))):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, option):
            labels.append(
                _read_utf16(
                    lambda buffer, size, at=option: raw.FPDFAnnot_GetOptionLabel(form, annotation, at, buffer, size)
                )
            )
    return ", ".join(label for label in labels if label)


def _place_field(tokens: list[PageToken], note: PageNote) -> None:
    """Put a value where a person looks for it: after its label on the left or above; a tick before its label."""
    row = [at for at, token in enumerate(tokens) if token.box and _same_row(token.box, note.box)]
    box = note.box
    left = [at for at in row if (b := tokens[at].box) and (b.x0 + b.x1) / 2 <= box.x0]
    right = [at for at in row if (b := tokens[at].box) and (b.x0 + b.x1) / 2 >= box.x1]
    if note.tick and right:
        _place_tick(tokens, note, left, min(right, key=lambda n: tokens[n].box.x0))  # type: ignore[union-attr]
        return
    if left:
        at = max(left, key=lambda n: tokens[n].box.x1)  # type: ignore[union-attr]  # only those with a box
        tokens[at + 1 : at + 1] = _note_tokens(note, " ")
        return
    above = [
        at
        for at, token in enumerate(tokens)
        if token.box
        and 0 <= box.y0 - (token.box.y0 + token.box.y1) / 2 <= _LABEL_ABOVE
        and min(token.box.x1, box.x1) > max(token.box.x0, box.x0)
    ]
    if above:
        at = max(above, key=lambda n: (round(tokens[n].box.y1, 2), n))  # type: ignore[union-attr]  # see above
        while at + 1 < len(tokens) and tokens[at + 1].gap in ("", " "):
            at += 1
        tokens[at + 1 : at + 1] = _note_tokens(note, "\n")
        return
    before = [at for at, token in enumerate(tokens) if token.box and token.box.y1 <= box.y0]
    at = max(before) + 1 if before else 0
    while at and at < len(tokens) and tokens[at].gap in ("", " "):
        at += 1
    if at < len(tokens):
        tokens[at] = replace(tokens[at], gap="\n\n")
    tokens[at:at] = _note_tokens(note, "\n\n")


def _place_tick(tokens: list[PageToken], note: PageNote, left: Sequence[int], label: int) -> None:
    """Put a tick before its label, and both behind what stands left of them on their line."""
    (tick,) = _note_tokens(note, tokens[label].gap)
    end = label + 1
    while end < len(tokens) and "\n" not in tokens[end].gap:
        end += 1
    before = max(left, key=lambda n: tokens[n].box.x1, default=None)  # type: ignore[union-attr]
    piece = [tick, replace(tokens[label], gap=" "), *tokens[label + 1 : end]]
    if before is None or "\n" not in tick.gap or label <= before < end:
        tokens[label:end] = piece
        return
    piece[0] = replace(tick, gap=" ")
    del tokens[label:end]
    at = before + 1 if before < label else before + 1 - (end - label)
    tokens[at:at] = piece


def _note_tokens(note: PageNote, gap: str) -> list[PageToken]:
    """The note's words, all of them with its box: where each stands in it nobody says."""
    if note.tick:
        return [PageToken(note.text, note.box, gap)]
    result: list[PageToken] = []
    for line in note.text.split("\n"):
        for number, word in enumerate(line.split()):
            result.append(PageToken(word, note.box, (gap if not result else "\n") if number == 0 else " "))
    return result


def _same_row(box: Box, other: Box) -> bool:
    overlap = min(box.y1, other.y1) - max(box.y0, other.y0)
    return overlap >= _SAME_ROW * min(box.y1 - box.y0, other.y1 - other.y0)


def _middle_in(box: Box, boxes: Sequence[Box]) -> bool:
    x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
    return any(b.x0 <= x <= b.x1 and b.y0 <= y <= b.y1 for b in boxes)


def _annotation_box(annotation: object, mapper: PageMapper) -> Box | None:
    rect = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, rect):
        return None
    return mapper.box(rect.left, rect.bottom, rect.right, rect.top)


def _marked_boxes(annotation: object, mapper: PageMapper) -> list[Box]:
    """The places that a highlight covers, a line each."""
    quad = raw.FS_QUADPOINTSF()
    boxes = []
    for index in range(raw.FPDFAnnot_CountAttachmentPoints(annotation)):
        if raw.FPDFAnnot_GetAttachmentPoints(annotation, index, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            boxes.append(mapper.box(min(xs), min(ys), max(xs), max(ys)))
    return boxes


def _attachment_name(annotation: object) -> str:
    file = raw.FPDFAnnot_GetFileAttachment(annotation)
    name = _read_utf16(lambda buffer, size: raw.FPDFAttachment_GetName(file, buffer, size)) if file else ""
    return name or _string_value(annotation, b"Contents") or "a file without a name"


def attached_files(pdf: pdfium.PdfDocument) -> tuple[str, ...]:
    """The names of the files that are embedded in the document."""
    names = []
    for index in range(max(0, raw.FPDFDoc_GetAttachmentCount(pdf))):
        file = raw.FPDFDoc_GetAttachment(pdf, index)
        name = _read_utf16(lambda buffer, size, at=file: raw.FPDFAttachment_GetName(at, buffer, size)) if file else ""
        names.append(name or "a file without a name")
    return tuple(names)


def is_unseen_form(pdf: pdfium.PdfDocument, text: str) -> bool:
    """True for a form that is XML (dynamic XFA) and not drawn on the pages; `text` is that of the first page."""
    kind = pdf.get_formtype()
    return kind == raw.FORMTYPE_XFA_FULL or (
        kind == raw.FORMTYPE_XFA_FOREGROUND and _PLACEHOLDER in " ".join(text.split())
    )


def xfa_values(pdf: pdfium.PdfDocument) -> tuple[str, ...]:
    """Values of an XFA form as `name: value`, in their order; none where its XML is damaged."""
    lines = []
    for packet in _xfa_packets(pdf):
        try:
            root = etree.fromstring(packet, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
        except (etree.LxmlError, ValueError):
            continue
        for data in root.iter(_XFA_DATA):
            leaves = (item for item in data.iter("{*}*") if len(item) == 0 and (item.text or "").strip())
            lines += [f"{etree.QName(item).localname}: {' '.join(str(item.text).split())}" for item in leaves]
    return tuple(lines)


def _xfa_packets(pdf: pdfium.PdfDocument) -> Iterator[bytes]:
    """The parts of the form's XML that may hold its data: that of this name, or the only one."""
    size = ctypes.c_ulong()
    count = max(0, raw.FPDF_GetXFAPacketCount(pdf))
    for index in range(count):
        name = ctypes.create_string_buffer(max(1, raw.FPDF_GetXFAPacketName(pdf, index, None, 0)))
        raw.FPDF_GetXFAPacketName(pdf, index, name, len(name))
        if count > 1 and name.value != b"datasets":
            continue
        if raw.FPDF_GetXFAPacketContent(pdf, index, None, 0, size) and size.value:
            content = ctypes.create_string_buffer(size.value)
            if raw.FPDF_GetXFAPacketContent(pdf, index, content, size.value, size):
                yield content.raw


def _string_value(annotation: object, key: bytes) -> str:
    return _read_utf16(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key, buffer, size))


def _read_utf16(ask: object) -> str:
    """Read the UTF-16 string with which a pdfium function fills a buffer."""
    size = ask(None, 0)  # type: ignore[operator]
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    ask(buffer, size)  # type: ignore[operator]
    return bytes(buffer)[: size - 2].decode("utf-16-le", "replace").replace("\0", "").replace("\r", "\n")
