"""Lines of a PDF page: words that a line end divides, letters that a step divides, paragraphs, bullets."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from pipelines.documents.document import Box
from pipelines.documents.extract.pdf.glyphs import UNKNOWN
from pipelines.documents.extract.pdf.hyphens import keeps_hyphen
from pipelines.documents.layout.page_tokens import PageToken

DIVIDED = "-"
"""The gap of a token that goes on what a hyphen at a line end divided, until that is decided."""

_NEXT_LINE = 0.06  # of the page's height: the next line of the same text stands no lower
_PUNCTUATION = ".,:;!?()[]{}\"'«»“”„‘’"
_NEAR = 0.01  # of the page's width: closer than two columns or two cells are
_PARAGRAPH_GAP = 0.8  # of the usual height of a line, between two lines
_WIDE_SET_GAP = 1.35  # of the usual distance, where all lines stand far apart
_FULL, _MOSTLY_FULL, _PROSE = 0.88, 0.6, 30  # of the widest line; of the lines; letters of a line


def with_bullets(tokens: list[PageToken]) -> list[PageToken]:
    """A sign without meaning that begins several lines of words is a bullet; before a figure it may be a minus."""
    found = [
        at
        for at, (token, after) in enumerate(pairwise(tokens))
        if token.text == UNKNOWN and (at == 0 or "\n" in token.gap) and after.gap == " " and after.text[0].isalpha()
    ]
    for at in found if len(found) > 1 else ():
        tokens[at] = replace(tokens[at], text="•", doubtful=False)
    return tokens


def joined_words(tokens: list[PageToken]) -> list[PageToken]:
    """Words divided at a line end joined again, with their hyphen where it is theirs."""
    if not any(token.gap == DIVIDED or token.text.endswith("-") for token in tokens):
        return tokens
    known = {token.text.lower().strip(_PUNCTUATION) for token in tokens}
    result: list[PageToken] = []
    for token in tokens:
        last = result[-1] if result else None
        divided = token.gap == DIVIDED
        if last is not None and (divided or _goes_on_below(last, token)):
            before = last.text[:-1]
            if keeps_hyphen(_whole_word(result), token.text, known):
                token = replace(token, gap="")
            elif divided:
                result[-1] = replace(last, text=before)
                token = replace(token, gap="")
        result.append(token)
    return result


def _goes_on_below(last: PageToken, token: PageToken) -> bool:
    """A number or a capital after a hyphen at the end of a line, which pdfium leaves on a line of its own."""
    if token.gap != "\n" or len(last.text) < 2 or last.text[-1] != "-" or not last.box or not token.box:
        return False
    near = last.text[-2].isalnum() and token.text[0].isalnum()
    digit = last.text[-2].isdigit() or token.text[0].isdigit() or token.text[0].isupper()
    return near and digit and token.box.x0 < last.box.x0 and 0 < token.box.y0 - last.box.y0 < _NEXT_LINE


def _whole_word(tokens: Sequence[PageToken]) -> str:
    """The word that the last token ends, without its last sign."""
    first = len(tokens) - 1
    while first and not tokens[first].gap:
        first -= 1
    return "".join(token.text for token in tokens[first:])[:-1]


def without_steps(tokens: list[PageToken]) -> list[PageToken]:
    """A raised or lowered letter does not end its line, though pdfium takes the step for a line end."""
    result = tokens[:1]
    for last, token in pairwise(tokens):
        if token.gap == "\n" and last.box and token.box and _goes_on(last.box, token.box):
            token = replace(token, gap="" if token.text[0] in ",.;:)]" else " ")
        result.append(token)
    return result


def _goes_on(last: Box, box: Box) -> bool:
    overlap = min(last.y1, box.y1) - max(last.y0, box.y0)
    near = -_NEAR / 2 <= box.x0 - last.x1 <= _NEAR
    return near and overlap > -max(last.y1 - last.y0, box.y1 - box.y0) / 2


def with_paragraphs(tokens: list[PageToken]) -> list[PageToken]:
    """A blank line where two lines stand further apart than lines of one paragraph do."""
    lines: list[list[int]] = []
    for index, token in enumerate(tokens):
        if token.gap == "\n" or not lines:
            lines.append([])
        lines[-1].append(index)
    if len(lines) < 3:
        return tokens
    boxes = [[box for index in line if (box := tokens[index].box)] for line in lines]
    tops = [min([box.y0 for box in line]) for line in boxes]
    bottoms = [max([box.y1 for box in line]) for line in boxes]
    usual = median([bottom - top for top, bottom in zip(tops, bottoms, strict=True)])
    most = _PARAGRAPH_GAP * usual
    distances = [top - bottom for top, bottom in zip(tops[1:], bottoms, strict=False) if top > bottom]
    if len(distances) > 2 and median(distances) > most and _is_prose(tokens, lines, boxes):
        most = _WIDE_SET_GAP * median(distances)  # set with double spacing
    result = list(tokens)
    for line in range(1, len(lines)):
        above = tops[line] - bottoms[line - 1]
        if above > most or above < -3 * usual:
            first = lines[line][0]
            result[first] = replace(tokens[first], gap="\n\n")
    return result


def _is_prose(tokens: Sequence[PageToken], lines: Sequence[Sequence[int]], boxes: Sequence[Sequence[Box]]) -> bool:
    """True if most lines run to the margin, as those of running text do."""
    right, left = max(box.x1 for line in boxes for box in line), min(box.x0 for line in boxes for box in line)
    full = sum(max(box.x1 for box in line) - left >= _FULL * (right - left) for line in boxes)
    letters = sum(len(tokens[index].text) + 1 for line in lines for index in line)
    return full >= _MOSTLY_FULL * len(lines) and letters >= _PROSE * len(lines)
