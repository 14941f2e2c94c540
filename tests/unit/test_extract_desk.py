"""What is known of a text beside its bytes reaches whoever opens it, and another encoding opens the file again."""

from pathlib import Path

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Caveat, CaveatKind, Page
from pipelines.documents.extract.extraction_worker import ExtractionWorker, Opener
from pipelines.documents.extract.opened import DocumentPart, ExtractionContext, OpenedDocument, UnpagedDocument
from pipelines.documents.sources.sniff import Kind


def text_desk(opened: list[tuple[str | None, str | None]]) -> ExtractionWorker:
    def find(kind: Kind) -> Opener:
        def open_(path: Path, context: ExtractionContext) -> OpenedDocument:
            opened.append((context.encoding, context.language))
            return UnpagedDocument([path.read_text(context.encoding or "latin-1")])

        return open_

    return ExtractionWorker(ReadSettings(), OcrSettings(), lambda settings: None, find)  # type: ignore[arg-type,return-value]


def test_a_page_is_decoded_as_its_survey_was(tmp_path: Path) -> None:
    path, opened = tmp_path / "a.txt", list[tuple[str | None, str | None]]()
    path.write_bytes("žluťoučký kůň".encode("cp1250"))
    desk = text_desk(opened)
    kind, _ = desk.survey(path, "a.txt", encoding="cp1250", language="cs")
    assert desk.page(path, kind, 1, encoding="cp1250", language="cs").text == "žluťoučký kůň"
    assert opened == [("cp1250", "cs")], "it is kept open between the two"
    assert desk.page(path, kind, 1).text != "žluťoučký kůň" and opened[-1] == (None, None)


def test_what_is_said_of_a_whole_document_stands_at_its_first_part() -> None:
    doubt, table = Caveat(CaveatKind.ENCODING_UNSURE, "cp1250?"), Caveat(CaveatKind.TABLE_UNSURE, "two heads")
    parts = UnpagedDocument(["one", DocumentPart("two", (table,))], [doubt])
    pages = [parts.page(1), parts.page(2)]
    assert pages == [Page(1, "one", caveats=(doubt,)), Page(2, "two", caveats=(table,))]
    assert [[one.whole for one in page.caveats] for page in pages] == [[True], [False]]
