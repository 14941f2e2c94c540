"""Searchable PDFs: the words that were read lie invisibly where they stand, and nothing else changes."""

from dataclasses import replace
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw
import pytest
from PIL import Image

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.corrections.line_edit import LineEdit, apply_edit
from pipelines.documents.document import Box, Failure, FailureReason, Page, Unreadable, Word
from pipelines.documents.export.glyphless_font import glyphless_truetype
from pipelines.documents.export.pdf_export import LayerCounts
from pipelines.documents.export.searchable_pdf import SearchablePdfWorker
from pipelines.documents.export.text_runs import page_runs, reading_turn, turned_words
from pipelines.documents.extract.pdf.native_text import native_text
from pipelines.documents.sources.sniff import Kind
from tests.fakes.scans import drawn_page, replaced_layer, scanned_page, write_native, write_scan

LINES = {
    "latin": ["Hello wide – world", "naïve façade, 42 %"],
    "russian": ["Привет, мир!", "Съешь ещё булок"],
    "chinese": ["漢字 測試", "你好 世界"],
    "japanese": ["テスト かな"],
    "arabic": ["مرحبا بالعالم 2026", "(تجربة) شُكرًا"],
    "hebrew": ["שלום עולם"],
    "hindi": ["नमस्ते दुनिया"],
    "beyond": ["emoji 😀x 𝒳", "plain again"],
}


def export(tmp_path: Path, path: Path, kind: Kind, *pages: Page) -> tuple[pdfium.PdfDocument, LayerCounts]:
    worker = SearchablePdfWorker(ReadSettings(), OcrSettings())
    worker.open(path, kind, tmp_path / "scratch")
    worker.add_pages(pages)
    counts = worker.save(tmp_path / "searchable.pdf")
    assert not list(tmp_path.glob("scratch*")), "no parts stay behind"
    return pdfium.PdfDocument(tmp_path / "searchable.pdf"), counts


def text_of(pdf: pdfium.PdfDocument, number: int = 1) -> str:
    return str(pdf[number - 1].get_textpage().get_text_range()).replace("\r\n", "\n")


def box_of(pdf: pdfium.PdfDocument, word: str, number: int = 1) -> Box:
    """Where a word is found, in fractions of the page as it is looked at."""
    page = pdf[number - 1]
    own = page.get_textpage()
    start = len(own.get_text_range().partition(word)[0].encode("utf-16-le")) // 2
    corners = []
    for at in range(start, start + len(word)):
        left, bottom, right, top = own.get_charbox(at)
        for x, y in ((left, bottom), (right, top)):
            px, py = raw.ctypes.c_int(), raw.ctypes.c_int()
            raw.FPDF_PageToDevice(page.raw, 0, 0, 100_000, 100_000, 0, x, y, px, py)
            corners.append((px.value / 100_000, py.value / 100_000))
    xs, ys = zip(*corners, strict=True)
    return Box(min(xs), min(ys), max(xs), max(ys))


def overlap(one: Box, other: Box) -> float:
    """Intersection over union."""
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    both = max(0.0, wide) * max(0.0, high)
    areas = sum((box.x1 - box.x0) * (box.y1 - box.y0) for box in (one, other))
    return both / (areas - both)


def same_pixels(one: pdfium.PdfDocument, other: pdfium.PdfDocument) -> bool:
    shown = zip(one, other, strict=True)
    return all((a.render(scale=1).to_numpy() == b.render(scale=1).to_numpy()).all() for a, b in shown)


@pytest.mark.parametrize("script", LINES)
def test_words_of_every_script_are_extracted_as_they_were_read_and_where_they_stand(
    tmp_path: Path, script: str
) -> None:
    page = scanned_page(LINES[script])
    pdf, counts = export(tmp_path, write_scan(tmp_path / "scan.pdf"), Kind.PDF, page)
    assert text_of(pdf) == page.text
    assert counts == LayerCounts(pages=1, layered=1)
    for word in page.words:
        if (word.text.isalpha() and word.text.isascii()) or script in ("russian", "chinese"):
            assert overlap(box_of(pdf, word.text), word.box) > 0.9, word.text


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (30, 50, 380, 590)])
def test_turned_and_cropped_pages_have_their_words_where_a_reader_sees_them(
    tmp_path: Path, rotation: int, crop: tuple[float, float, float, float] | None
) -> None:
    page = scanned_page(["Hello world", "second line", "مرحبا بالعالم"])
    scan = write_scan(tmp_path / "scan.pdf", rotation=rotation, crop=crop)
    pdf, _ = export(tmp_path, scan, Kind.PDF, page)
    assert text_of(pdf) == page.text
    for word in page.words[:4]:
        assert overlap(box_of(pdf, word.text), word.box) > 0.9, word.text
    assert same_pixels(pdfium.PdfDocument(scan), pdf), "the layer is never seen"


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_words_that_nearly_touch_stay_apart_and_signs_without_spaces_between_stay_together(
    tmp_path: Path, rotation: int
) -> None:
    close = (Word("narrow", 0, Box(0.1, 0.1, 0.25, 0.13)), Word("gap", 7, Box(0.252, 0.1, 0.33, 0.13)))
    signs = tuple(
        Word(sign, 11 + at, Box(0.1 + at * 0.03, 0.2, 0.13 + at * 0.03, 0.23)) for at, sign in enumerate("漢字測試")
    )
    page = Page(1, "narrow gap\n漢字測試", (*close, *signs), "tesseract")
    pdf, _ = export(tmp_path, write_scan(tmp_path / "scan.pdf", rotation=rotation), Kind.PDF, page)
    assert text_of(pdf) == page.text


@pytest.mark.parametrize("turn", [1, 3])
@pytest.mark.parametrize("rotation", [0, 90])
def test_writing_that_lies_on_its_side_is_read_as_it_runs(tmp_path: Path, turn: int, rotation: int) -> None:
    """A sheet that was put into the scanner sideways: boxes of words are higher than wide."""
    upright = scanned_page(["Hello wide world", "second line"])
    back = 4 - turn
    words = tuple(turned_words(upright.words, back))
    assert reading_turn(upright.text, words) == turn
    assert _rounded(turned_words(words, turn)) == _rounded(list(upright.words))
    scan = write_scan(tmp_path / "scan.pdf", rotation=rotation)
    pdf, _ = export(tmp_path, scan, Kind.PDF, replace(upright, words=words))
    assert text_of(pdf) == upright.text
    for word in words:
        assert overlap(box_of(pdf, word.text), word.box) > 0.9, word.text


def test_a_page_whose_origin_lies_elsewhere_has_its_words_in_place(tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "scan.pdf")
    moved = pdfium.PdfDocument(scan)
    moved[0].set_mediabox(-50, -70, 400, 600)
    moved.save(tmp_path / "moved.pdf")
    page = scanned_page(["Hello world"])
    pdf, _ = export(tmp_path, tmp_path / "moved.pdf", Kind.PDF, page)
    assert overlap(box_of(pdf, "world"), page.words[1].box) > 0.9


@pytest.mark.parametrize("script", ["latin", "russian", "chinese", "beyond"])
def test_our_own_reader_takes_the_layer_for_one_of_ocr_with_every_word_known(tmp_path: Path, script: str) -> None:
    """A space with an outline would be a sign whose meaning the font does not tell."""
    page = scanned_page(LINES[script])
    pdf, _ = export(tmp_path, write_scan(tmp_path / "scan.pdf"), Kind.PDF, page)
    native = native_text(pdf[0])
    assert " ".join(token.text for token in native.tokens).split() == page.text.split()
    assert all(token.hidden for token in native.tokens) and native.damaged == 0


def test_pages_with_their_own_text_stay_as_they_are(tmp_path: Path) -> None:
    """Native text is never doubled: neither on native pages nor on those of which OCR read only the pictures."""
    path = write_native(tmp_path / "native.pdf", "Total 42 EUR")
    own = Page(1, "Total 42 EUR", (Word("Total", 0, Box(0.1, 0.08, 0.2, 0.1)),))
    pdf, counts = export(tmp_path, path, Kind.PDF, own)
    assert (text_of(pdf), counts) == ("Total 42 EUR", LayerCounts(pages=1, native=1))
    corrected = apply_edit(own, LineEdit(0, "Total 42 EUR", "Total 43 EUR"))
    pdf, counts = export(tmp_path, path, Kind.PDF, corrected)
    assert (text_of(pdf), counts) == ("Total 42 EUR", LayerCounts(pages=1, native=1)), "corrected, and no scan for it"


def test_a_page_of_text_and_pictures_gets_only_the_words_of_its_pictures(tmp_path: Path) -> None:
    path = write_native(tmp_path / "mixed.pdf", "Total 42 EUR", picture=True)
    own = pdfium.PdfDocument(path)
    box = box_of(own, "Total")
    stamp = Word("APPROVED", 13, Box(0.5, 0.5, 0.7, 0.55), 0.8)
    page = Page(1, "Total 42 EUR\nAPPROVED", (Word("Total", 0, box), stamp), "tesseract", 0.8)
    pdf, counts = export(tmp_path, path, Kind.PDF, page)
    assert (text_of(pdf).split(), counts.layered) == (["Total", "42", "EUR", "APPROVED"], 1)
    again, counts = export(tmp_path, _kept(tmp_path), Kind.PDF, page)
    assert (text_of(again).split().count("APPROVED"), counts.native) == (1, 1), "a second export adds nothing"


def test_a_layer_that_was_not_believed_gives_way_to_ours(tmp_path: Path) -> None:
    path = write_native(tmp_path / "layer.pdf", "", picture=True, hidden="Tbe qu1ck hrown fcx")
    page = replace(scanned_page(["The quick brown fox"]), attempts=(replaced_layer(),))
    pdf, counts = export(tmp_path, path, Kind.PDF, page)
    assert (text_of(pdf), counts.doubled) == ("The quick brown fox", 0)
    assert same_pixels(pdfium.PdfDocument(path), pdf)


def test_a_layer_that_was_not_believed_goes_alone_from_a_page_that_draws_more(tmp_path: Path) -> None:
    path = write_native(tmp_path / "layer.pdf", "Visible", picture=True, hidden="Tbe qu1ck quick")
    page = replace(scanned_page(["The quick"]), attempts=(replaced_layer(),))
    pdf, counts = export(tmp_path, path, Kind.PDF, page)
    assert sorted(text_of(pdf).split()) == ["The", "Visible", "quick"]
    assert counts.doubled == 0 and same_pixels(pdfium.PdfDocument(path), pdf)


def test_a_pdf_that_opens_without_a_password_keeps_its_protection(tmp_path: Path) -> None:
    with pikepdf.open(write_scan(tmp_path / "scan.pdf")) as plain:
        permissions = pikepdf.Permissions(modify_other=False)
        plain.save(tmp_path / "kept.pdf", encryption=pikepdf.Encryption(owner="boss", user="", allow=permissions))
    page = scanned_page(LINES["latin"])
    pdf, _ = export(tmp_path, tmp_path / "kept.pdf", Kind.PDF, page)
    assert text_of(pdf) == page.text
    with pikepdf.open(tmp_path / "searchable.pdf") as written:
        assert written.is_encrypted and not written.allow.modify_other


def test_drawing_that_leaves_its_coordinates_moved_moves_no_words(tmp_path: Path) -> None:
    with pikepdf.open(write_scan(tmp_path / "scan.pdf")) as pdf:
        pdf.pages[0].contents_add(b"2 0 0 2 100 100 cm")
        pdf.save(tmp_path / "moved.pdf")
    page = scanned_page(["Hello world"])
    written, _ = export(tmp_path, tmp_path / "moved.pdf", Kind.PDF, page)
    assert overlap(box_of(written, "world"), page.words[1].box) > 0.9


def test_bookmarks_and_sizes_stay(tmp_path: Path) -> None:
    with pikepdf.open(write_scan(tmp_path / "scan.pdf", pages=2)) as pdf:
        with pdf.open_outline() as outline:
            outline.root.append(pikepdf.OutlineItem("second", 1))
        pdf.save(tmp_path / "marked.pdf")
    export(tmp_path, tmp_path / "marked.pdf", Kind.PDF, scanned_page(["one"]), scanned_page(["two"], 2))
    with pikepdf.open(tmp_path / "searchable.pdf") as pdf, pdf.open_outline() as outline:
        assert [item.title for item in outline.root] == ["second"]


def test_pages_that_failed_or_say_nothing_stay_in_the_pdf_and_are_counted(tmp_path: Path) -> None:
    failed = Page(2, "", failure=Failure("read", FailureReason.TIMEOUT))
    empty = Page(3, "", engine="tesseract")
    scan = write_scan(tmp_path / "scan.pdf", pages=4)
    pdf, counts = export(tmp_path, scan, Kind.PDF, scanned_page(["one"]), failed, empty)
    assert (len(pdf), counts) == (4, LayerCounts(pages=4, layered=1, empty=1, unread=2))
    assert [text_of(pdf, number) for number in (1, 2, 3, 4)] == ["one", "", "", ""]


def test_a_text_without_boxes_is_found_on_its_page(tmp_path: Path) -> None:
    page = Page(1, "first line\n\nsecond line", engine="easyocr")
    pdf, counts = export(tmp_path, write_scan(tmp_path / "scan.pdf"), Kind.PDF, page)
    assert (text_of(pdf).split("\n"), counts.unplaced) == (["first line", "second line"], 1)


def test_garbage_words_harm_nothing(tmp_path: Path) -> None:
    """Control characters, lone surrogates, direction marks, boxes without area, out of the page or not finite."""
    box = Box(0.1, 0.1, 0.3, 0.13)
    words = (
        Word("go\x00od\x07", 0, box),
        Word("\x1b\x9b\u202e", 10, box),
        Word("\ud800", 20, box),
        Word("\ufffe\U0001ffff", 30, box),
        Word("flat", 40, Box(0.1, 0.2, 0.1, 0.2)),
        Word("nan", 50, Box(float("nan"), 0, 1, 1)),
        Word("inf", 60, Box(0, 0, float("inf"), 1)),
        Word("out", 70, Box(0.9, 0.5, 1.7, 0.53)),
        Word("backwards", 80, Box(0.6, 0.6, 0.4, 0.62)),
    )
    pdf, counts = export(tmp_path, write_scan(tmp_path / "s.pdf"), Kind.PDF, Page(1, "x" * 99, words, "tesseract"))
    assert (text_of(pdf).split(), counts.layered) == (["good", "out"], 1)


def test_a_dash_does_not_begin_a_line_of_its_own() -> None:
    words = (
        Word("left", 0, Box(0.1, 0.1, 0.2, 0.13)),
        Word("—", 5, Box(0.22, 0.114, 0.25, 0.116)),
        Word("right", 7, Box(0.27, 0.1, 0.4, 0.13)),
    )
    runs = page_runs("left — right", words)
    assert [run.text for run in runs] == ["left ", "— ", "right"]
    assert {(run.box.y0, run.box.y1) for run in runs} == {(0.1, 0.13)}


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "webp"])
def test_a_picture_becomes_a_page_of_its_size_with_its_words(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"letter.{suffix}"
    drawn_page().save(path, dpi=(100, 100))
    page = scanned_page(["Hello world", "مرحبا بالعالم"])
    pdf, counts = export(tmp_path, path, Kind.IMAGE, page)
    assert (text_of(pdf), counts) == (page.text, LayerCounts(pages=1, layered=1))
    assert overlap(box_of(pdf, "world"), page.words[1].box) > 0.9
    wide, high = pdf[0].get_size()
    assert wide / high == pytest.approx(400 / 600, rel=0.01)
    if suffix != "webp":  # which does not tell its dots per inch
        assert (wide, high) == pytest.approx((288, 432), rel=0.02)
    shown = pdf[0].render(scale=400 / wide).to_pil().convert("L").resize((400, 600))
    assert shown.getpixel((70, 40)) < 60 and shown.getpixel((300, 40)) > 200, "upright, as it was"


def test_a_jpeg_keeps_its_bytes_and_one_that_a_camera_turned_is_shown_upright(tmp_path: Path) -> None:
    plain = tmp_path / "plain.jpg"
    drawn_page().save(plain, quality=80)
    export(tmp_path, plain, Kind.IMAGE, scanned_page(["Hello"]))
    data = plain.read_bytes()
    assert data[-2000:] in (tmp_path / "searchable.pdf").read_bytes()
    turned = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise
    drawn_page().transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif)
    pdf, _ = export(tmp_path, turned, Kind.IMAGE, scanned_page(["Hello"]))
    wide, high = pdf[0].get_size()
    assert wide < high
    assert pdf[0].render(scale=400 / wide).to_pil().convert("L").getpixel((70, 40)) < 60


def test_every_frame_of_a_tiff_is_a_page_and_frames_that_are_not_stored_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "fax.tif"
    frames = [drawn_page(1).convert("1"), drawn_page(2), drawn_page(3).convert("RGB"), drawn_page(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:], dpi=(200, 200))
    pages = [scanned_page([f"frame {number}"], number) for number in (1, 3)]
    pdf, counts = export(tmp_path, path, Kind.IMAGE, *pages)
    assert [text_of(pdf, number) for number in (1, 2, 3, 4)] == ["frame 1", "", "frame 3", ""]
    assert counts == LayerCounts(pages=4, layered=2, unread=2)
    shown = [page.render(scale=1).to_pil().convert("L").getpixel((25, 14)) for page in pdf]
    assert max(shown) < 80, "each shows its picture"


def test_a_long_tiff_is_written_in_parts_so_that_memory_does_not_grow_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.documents.export.searchable_pdf._HELD_BYTES", 1_000)
    path = tmp_path / "fax.tif"
    frames = [drawn_page(number).convert("1") for number in range(1, 13)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    pages = [scanned_page([f"frame number {number}", "мир 😀"], number) for number in range(1, 13)]
    pdf, counts = export(tmp_path, path, Kind.IMAGE, *pages)
    assert [text_of(pdf, number) for number in range(1, 13)] == [page.text for page in pages]
    assert counts.layered == 12


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%PDF-1.7\nnothing", FailureReason.CORRUPT),
        (b"", FailureReason.CORRUPT),
        (b"\0" * 5_000, FailureReason.CORRUPT),
    ],
)
def test_a_broken_pdf_is_refused_with_its_reason(tmp_path: Path, content: bytes, reason: FailureReason) -> None:
    (tmp_path / "broken.pdf").write_bytes(content)
    with pytest.raises(Unreadable) as caught:
        SearchablePdfWorker(ReadSettings(), OcrSettings()).open(tmp_path / "broken.pdf", Kind.PDF, tmp_path / "s")
    assert caught.value.reason is reason


def test_a_pdf_whose_table_of_objects_is_damaged_is_written_whole(tmp_path: Path) -> None:
    data = write_scan(tmp_path / "scan.pdf", pages=2).read_bytes()
    (tmp_path / "cut.pdf").write_bytes(data[: data.rindex(b"xref")])
    page = scanned_page(["Hello world"])
    pdf, _ = export(tmp_path, tmp_path / "cut.pdf", Kind.PDF, page)
    assert (len(pdf), text_of(pdf)) == (2, page.text)


def test_other_kinds_have_no_pages_that_a_pdf_could_show(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="docx"):
        SearchablePdfWorker(ReadSettings(), OcrSettings()).open(tmp_path / "a.docx", Kind.DOCX, tmp_path / "s")


def test_a_page_that_the_file_does_not_have_means_another_file(tmp_path: Path) -> None:
    with pytest.raises(Unreadable) as caught:
        export(tmp_path, write_scan(tmp_path / "scan.pdf"), Kind.PDF, scanned_page(["x"], number=2))
    assert caught.value.reason is FailureReason.CHANGED


def test_a_disk_that_fills_up_is_told_as_such(tmp_path: Path) -> None:
    worker = SearchablePdfWorker(ReadSettings(), OcrSettings())
    worker.open(write_scan(tmp_path / "scan.pdf"), Kind.PDF, tmp_path / "s")
    with pytest.raises(OSError, match="No space left"):
        worker.save(Path("/dev/full"))


def test_the_font_has_the_checksum_that_truetype_asks_for() -> None:
    data = glyphless_truetype()
    words = [int.from_bytes(data[at : at + 4], "big") for at in range(0, len(data), 4)]
    assert sum(words) & 0xFFFFFFFF == 0xB1B0AFBA


def _rounded(words: list[Word]) -> list[Word]:
    boxes = [Box(*(round(edge, 6) for edge in (w.box.x0, w.box.y0, w.box.x1, w.box.y1))) for w in words]
    return [replace(word, box=box) for word, box in zip(words, boxes, strict=True)]


def _kept(tmp_path: Path) -> Path:
    """The last export under a name of its own."""
    kept = tmp_path / "kept.pdf"
    kept.write_bytes((tmp_path / "searchable.pdf").read_bytes())
    return kept
