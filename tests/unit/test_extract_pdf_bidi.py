"""Arabic and Hebrew lines of a PDF: whatever the order of its content, they are read in theirs."""

from collections.abc import Callable, Sequence

import pytest
from bidi import get_display

from pipelines.documents.extract.pdf.bidi import in_reading_order
from pipelines.documents.extract.pdf.glyphs import Glyph, TextRun

RUN = TextRun(12.0, False, False, (1.0, 0.0), 700.0, 1, 1)
WIDE = 6.0  # points of each sign

ARABIC = [
    "تحسين الأداء والإنتاجية وحل المشكلات",
    "يجب فحص المضخة رقم KX-4471 كل 3 أشهر.",
    "هاتف المدير 0551-2288 (مكتب)",
    "بلغت النسبة 15.5% من الإجمالي في 2023",
    "السعر 1,250 ريال للقطعة الواحدة",
    "رقم القطعة DIN-EN-1717 من المورد Siemens AG",
    "التاريخ: 12/03/2031 الساعة 14:30",
    "الأسعار لا تشمل الضريبة",
]
HEBREW = [
    "יש לבדוק את המשאבה KX-4471 כל 3 חודשים",
    "טלפון המנהל 0551-2288 (משרד)",
    'הסכום הוא 1,250 ש"ח ליחידה',
    "החלק DIN-EN-1717 של Siemens AG",
    "בתאריך 12/03/2031 בשעה 14:30",
    "הריבית היא 15.5% לשנה",
    "המחיר הוא $25 בלבד",
]

Order = Callable[[list[Glyph]], list[Glyph]]


def shown(line: str, level: float = 700.0) -> list[Glyph]:
    """The signs of a line where a reader sees them, from left to right; blanks are not drawn."""
    run = TextRun(12.0, False, False, (1.0, 0.0), level, 1, 1)
    display = get_display(line, base_dir="R")
    return [
        Glyph(char, 100 + WIDE * at, level, 100 + WIDE * (at + 1), level + 9, run, at=at)
        for at, char in enumerate(str(display))
        if char != " "
    ]


def as_pdfium_turns_it(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """Each word's signs from left to right, the words from right to left: what pdfium makes of a page of Chrome's."""
    words: list[list[Glyph]] = []
    for glyph in glyphs:
        if not words or glyph.left - words[-1][-1].right > 1:
            words.append([])
        words[-1].append(glyph)
    blank = Glyph(" ", 0, 0, 0, 0, None)
    return [glyph for word in reversed(words) for glyph in (*word, blank)]


def read(glyphs: Sequence[Glyph]) -> tuple[str, int]:
    ordered, unsure = in_reading_order(glyphs)
    return "".join(glyph.char for glyph in ordered), unsure


@pytest.mark.parametrize("line", [*ARABIC, *HEBREW])
@pytest.mark.parametrize(
    "order", [list, lambda glyphs: glyphs[::-1], as_pdfium_turns_it], ids=["visual", "back", "word"]
)
def test_a_line_is_read_in_its_order_whatever_the_order_of_the_content(line: str, order: Order) -> None:
    context = shown("النص " * 6, 650)  # the page is written from right to left
    end = Glyph("\n", 0, 0, 0, 0, None)
    text, unsure = read([*order(shown(line)), end, *context])
    assert (text.split("\n")[0].strip(), unsure) == (line, 0)


def test_letters_of_a_ligature_stand_in_their_order_however_pdfium_turns_them() -> None:
    def ligature(letters: str) -> list[Glyph]:
        lam_alef = [Glyph(letter, 106, 700, 112, 709, RUN) for letter in letters]
        return [Glyph("ح", 112, 700, 118, 709, RUN), *lam_alef, Glyph("م", 100, 700, 106, 709, RUN)]

    assert read(ligature("ال"))[0] == read(ligature("لا"))[0] == "حلام"


def test_a_mark_stays_with_the_letter_that_it_stands_on() -> None:
    mark = Glyph("\u064e", 107, 706, 111, 709, RUN)
    letters = [Glyph("ب", 106, 700, 112, 709, RUN), Glyph("م", 100, 700, 106, 709, RUN)]
    assert read([mark, *letters])[0] == read([*letters, mark])[0] == "ب\u064eم"


def test_arabic_words_in_a_line_of_another_script_are_turned_alone() -> None:
    latin = [Glyph(char, 10 + WIDE * at, 700, 16 + WIDE * at, 709, RUN) for at, char in enumerate("Model")]
    arabic = shown("مضخة")
    assert read([*latin, *arabic, *(Glyph(c, 300 + 6 * n, 700, 306 + 6 * n, 709, RUN) for n, c in enumerate("of KX"))])[
        0
    ].startswith("Model مضخة ")


def test_a_picture_that_no_order_gives_is_not_decided() -> None:
    """After a letter a figure is a part of its phrase, so that it never stands left of it."""
    line = [Glyph(char, 100 + WIDE * at, 700, 106 + WIDE * at, 709, RUN) for at, char in enumerate("1 a\u05d1")]
    assert read(line)[1] == 1
