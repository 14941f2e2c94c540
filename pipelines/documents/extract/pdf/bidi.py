"""Arabic and Hebrew on a PDF page: from where the signs stand to the order in which they are read (UAX 9, inverted).

Programs write such lines into a PDF in either order, so the order of the content tells nothing; the picture does.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product

from bidi import get_display

from pipelines.documents.extract.pdf.glyphs import Glyph

FIRST_RTL = "\u0590"
_JOINED = 2.0  # of the type's size: pieces of one line that pdfium tore apart stand no further from each other
_SAME_LEVEL = 0.3  # of the type's size
_BLANK, _BLANK_BETWEEN_WORDS = 0.18, 0.06  # of the type's size: between two signs; where pdfium saw two words
_MOST_CHOICES = 7
_MIRRORED = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")
_OPENING, _CLOSING = "([{«‹", ")]}»›"
_OF_FIGURES = "%‰$€£¥₪°+-−#"
_ALEFS = "اأإآٱ"


def has_rtl(char: str) -> bool:
    """True for a character of a script that is written from right to left."""
    return FIRST_RTL <= char <= "\u08ff" and unicodedata.bidirectional(char[0]) in ("R", "AL")


def in_reading_order(glyphs: Sequence[Glyph]) -> tuple[list[Glyph], int]:
    """The page's glyphs with those of right-to-left lines as they are read, and how many lines could not be decided.

    A line whose order, written out again by the bidirectional algorithm, does not give its picture is not decided.
    """
    result: list[Glyph] = []
    unsure = 0
    kinds = Counter(_bidi_kind(glyph.char[0]) for glyph in glyphs if glyph.char.isalpha())
    leftward = kinds["R"] >= kinds["L"]  # a line of mostly Latin names is one of its page all the same
    for line, end in _joined_lines(glyphs):
        if not any(has_rtl(glyph.char) for glyph in line):
            result += line
        else:
            ordered, agrees = _read_line(line, leftward)
            unsure += not agrees
            result += ordered
        if end is not None:
            result.append(end)
    return result, unsure


def _joined_lines(glyphs: Sequence[Glyph]) -> list[tuple[list[Glyph], Glyph | None]]:
    """Lines with what ends them; neighbours at one height are one line, which pdfium has torn apart."""
    lines: list[tuple[list[Glyph], Glyph | None]] = []
    current: list[Glyph] = []
    for glyph in glyphs:
        if glyph.char != "\n":
            current.append(glyph)
            continue
        if current:
            lines.append((current, glyph))
            current = []
    if current:
        lines.append((current, None))
    joined: list[tuple[list[Glyph], Glyph | None]] = []
    for line, end in lines:
        if joined and _one_line(joined[-1][0], line):
            joined[-1] = ([*joined[-1][0], line[0]._replace(char=" ", run=None), *line], end)
        else:
            joined.append((line, end))
    return joined


def _one_line(line: Sequence[Glyph], other: Sequence[Glyph]) -> bool:
    if not any(has_rtl(glyph.char) for glyph in (*line, *other)):
        return False
    runs = [next((glyph.run for glyph in part if glyph.run), None) for part in (line, other)]
    if runs[0] is None or runs[1] is None or runs[0].along != runs[1].along:
        return False
    size = max(runs[0].size, runs[1].size, 1.0)
    if abs(runs[0].level - runs[1].level) > _SAME_LEVEL * size:
        return False
    spans = [(min(g.left for g in part), max(g.right for g in part)) for part in (line, other)]
    return max(spans[0][0], spans[1][0]) - min(spans[0][1], spans[1][1]) <= _JOINED * size


def _read_line(line: Sequence[Glyph], leftward_page: bool) -> tuple[list[Glyph], bool]:
    clusters = _glyph_clusters(line)
    shown = _with_blanks(clusters, line)
    signs = "".join(cluster[0].char[0] for cluster in shown)
    order, agrees = _logical_order(signs, leftward_page)
    result: list[Glyph] = []
    text = "".join(signs[at] for at, _ in order)
    turn = _is_balanced(text.translate(_MIRRORED)) or not _is_balanced(text)
    for at, leftward in order:
        cluster = shown[at]
        if leftward and turn and len(cluster) == 1 and cluster[0].char in _OPENING + _CLOSING + "<>":
            result.append(cluster[0]._replace(char=cluster[0].char.translate(_MIRRORED)))
        else:
            result += cluster
    return result, agrees


def _glyph_clusters(line: Sequence[Glyph]) -> list[list[Glyph]]:
    """Signs from left to right; letters of one ligature, and a letter with its marks, are one."""
    found: list[list[Glyph]] = []
    marks: list[Glyph] = []
    for glyph in line:
        if glyph.char.isspace():
            continue
        if unicodedata.combining(glyph.char[0]):
            marks.append(glyph)
        elif found and has_rtl(glyph.char) and _same_place(found[-1][-1], glyph):
            found[-1].append(glyph)
        else:
            found.append([glyph])
    for cluster in found:
        if len(cluster) > 1:
            cluster.reverse()  # pdfium has turned the letters of a ligature round with their line
            if len(cluster) == 2 and cluster[0].char in _ALEFS and cluster[1].char == "ل":
                cluster.reverse()
    for mark in marks:
        if found:
            middle = (mark.left + mark.right) / 2
            min(found, key=lambda c: abs((c[0].left + c[0].right) / 2 - middle)).append(mark)
    return sorted(found, key=lambda cluster: cluster[0].left + cluster[0].right)


def _same_place(last: Glyph, glyph: Glyph) -> bool:
    return has_rtl(last.char) and last.run is glyph.run and (last.left, last.right) == (glyph.left, glyph.right)


def _with_blanks(clusters: list[list[Glyph]], line: Sequence[Glyph]) -> list[list[Glyph]]:
    """The clusters with a blank between two words: where one is drawn, or where they stand apart."""
    drawn = sorted((glyph.left + glyph.right) / 2 for glyph in line if glyph.run and glyph.char == " ")
    word_of: dict[int, int] = {}
    word = 0
    for glyph in line:
        word += glyph.char.isspace()
        word_of[id(glyph)] = word
    result = clusters[:1]
    for last, cluster in pairwise(clusters):
        left, right = last[0], cluster[0]
        size = max(left.run.size if left.run else 0, right.run.size if right.run else 0, 1.0)
        gap = right.left - left.right
        begin, end = (left.left + left.right) / 2, (right.left + right.right) / 2
        two_words = word_of.get(id(left)) != word_of.get(id(right))
        least = _BLANK_BETWEEN_WORDS if two_words else _BLANK
        if gap > least * size or any(begin < at < end for at in drawn):
            result.append([Glyph(" ", left.right, left.bottom, right.left, left.top, None)])
        result.append(cluster)
    return result


def _logical_order(shown: str, leftward_page: bool) -> tuple[list[tuple[int, bool]], bool]:
    """Indices of the shown signs as they are read, each with whether it is written leftwards; and whether it agrees."""
    kinds = [_bidi_kind(sign) for sign in shown]
    base = "R" if leftward_page or kinds.count("R") >= kinds.count("L") else "L"
    if base == "R":
        return _leftward_order(shown, kinds, 0, len(shown), base)
    order: list[tuple[int, bool]] = []
    agrees = True
    at = 0
    while at < len(shown):
        if kinds[at] != "R":
            order.append((at, False))
            at += 1
            continue
        stop = next((n for n in range(at, len(shown)) if kinds[n] == "L"), len(shown))
        end = max(n for n in range(at, stop) if kinds[n] == "R") + 1
        piece, fits = _leftward_order(shown, kinds, at, end, "R")
        order += piece
        agrees = agrees and fits
        at = end
    return order, agrees


def _leftward_order(
    shown: str, kinds: Sequence[str], start: int, end: int, base: str
) -> tuple[list[tuple[int, bool]], bool]:
    """A stretch written from right to left: what stands in it from left to right is kept so.

    Pieces of Latin letters and digits are joined or apart; of all ways the first is taken that, displayed by the
    bidirectional algorithm, gives what is shown.
    """
    wanted = shown[start:end].translate(_MIRRORED)
    first: list[tuple[int, bool]] = []
    for signed in (False, True):  # `15%` is one piece after Hebrew letters, two after Arabic ones
        pieces = _unbroken_pieces(shown, kinds, start, end, signed)
        joints = [(a, b) for a, b in pairwise(pieces) if not any(kinds[at] == "R" for at in range(a[1], b[0]))]
        likely = [_belong_together(shown, kinds, here, after) for here, after in joints]
        first = first or _reversed_order(start, end, pieces, dict(zip(joints, likely, strict=True)))
        for flips in product((False, True), repeat=min(len(joints), _MOST_CHOICES)):
            choice = [joined ^ flip for joined, flip in zip(likely, [*flips, *[False] * len(joints)], strict=False)]
            order = _reversed_order(start, end, pieces, dict(zip(joints, choice, strict=True)))
            display = get_display("".join(shown[at] for at, _ in order), base_dir=base)
            if str(display).translate(_MIRRORED).translate(_FLAT) == wanted.translate(_FLAT):
                return order, True
    return first, False


_FLAT = str.maketrans("()[]{}<>«»‹›", "||||||||||||")


def _unbroken_pieces(shown: str, kinds: Sequence[str], start: int, end: int, signed: bool) -> list[tuple[int, int]]:
    """Unbroken runs of Latin letters and digits, with the signs beside the digits where they are `signed`."""
    pieces: list[tuple[int, int]] = []
    for at in range(start, end):
        beside = (at > start and kinds[at - 1] == "D") or (at + 1 < end and kinds[at + 1] == "D")
        if kinds[at] not in "LD" and not (signed and beside and shown[at] in _OF_FIGURES):
            continue
        if pieces and pieces[-1][1] == at:
            pieces[-1] = (pieces[-1][0], at + 1)
        else:
            pieces.append((at, at + 1))
    return pieces


def _belong_together(shown: str, kinds: Sequence[str], here: tuple[int, int], after: tuple[int, int]) -> bool:
    """True if two pieces are rather one part number, one figure or one phrase than two things side by side."""
    if " " not in shown[here[1] : after[0]]:
        return True
    return "L" in kinds[here[0] : here[1]]


def _reversed_order(
    start: int, end: int, pieces: Sequence[tuple[int, int]], joined: dict[tuple[tuple[int, int], tuple[int, int]], bool]
) -> list[tuple[int, bool]]:
    """Everything reversed, except inside the pieces and between those that are joined."""
    blocks: list[tuple[int, int]] = []
    for number, piece in enumerate(pieces):
        if number and joined.get((pieces[number - 1], piece)):
            blocks[-1] = (blocks[-1][0], piece[1])
        else:
            blocks.append(piece)
    order: list[tuple[int, bool]] = []
    at = end
    for begin, stop in reversed(blocks):
        order += [(n, True) for n in range(at - 1, stop - 1, -1)]
        order += [(n, False) for n in range(begin, stop)]
        at = begin
    return order + [(n, True) for n in range(at - 1, start - 1, -1)]


def _bidi_kind(sign: str) -> str:
    """R for letters written leftwards, L for others, D for digits, N for the rest."""
    kind = unicodedata.bidirectional(sign)
    if kind in ("R", "AL"):
        return "R"
    return "D" if kind in ("EN", "AN") else "L" if kind == "L" else "N"


def _is_balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth < 0:
            return False
    return depth == 0
