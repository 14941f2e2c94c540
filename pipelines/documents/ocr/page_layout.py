"""The structure of a scanned page: tables between ruling lines, and tables by how the words stand under each other."""

from collections.abc import Sequence
from statistics import median

from pipelines.documents.document import Box
from pipelines.documents.layout.column_tables import find_columns
from pipelines.documents.layout.page_tokens import PageToken
from pipelines.documents.layout.row_bands import divided_bands
from pipelines.documents.layout.ruled_grids import RuleLine, grids_of_lines
from pipelines.documents.layout.table_grids import place_tables
from pipelines.documents.ocr.preprocess import PreparedPage
from pipelines.documents.ocr.reading import OcrToken, TextLine

_LEAST_WORDS = 8  # of a page that has a table
_MOST_WORDS = 20_000
_SURE = 0.8  # mean confidence: clean scans are above, and of others some words stand where they do by chance
_POINTS = 842  # along the longer side of the page, for the tolerances of grids
_LEAST_COLUMNS = 3  # of a table without rules: pairs on a receipt are read line by line
_LONG_LINE = 0.15  # of the page's width, to tell by it how the page leans


def with_tables(lines: Sequence[TextLine], page: PreparedPage) -> tuple[PageToken, ...]:
    """The words in their order, those of tables as Markdown; boxes in fractions of the picture.

    `source` of a token is the number of its word, from 1; marks of Markdown have 0.
    """
    words = [token for line in lines for token in line.tokens]
    height, width = page.image.shape
    slope = page_slope(lines, width)
    tokens = _straight_tokens(lines, width, height, slope)
    sure = words and sum(word.confidence for word in words) / len(words) >= _SURE
    if not sure or not _LEAST_WORDS <= len(words) <= _MOST_WORDS:
        return tokens
    scale = _POINTS / max(width, height)
    aspect = height / width
    rules = [_straight_rule(rule, slope, scale) for rule in page.rules]
    grids = divided_bands(grids_of_lines(rules, width * scale, height * scale), tokens, aspect)
    columns, _ = find_columns(tokens, grids, aspect, _LEAST_COLUMNS)
    return place_tables(tokens, [*grids, *columns])


def _straight_rule(rule: RuleLine, slope: float, scale: float) -> RuleLine:
    """The line as it lies once the page is turned to stand straight, in points."""
    across, down = slope * (rule.y0 + rule.y1) / 2, slope * (rule.x0 + rule.x1) / 2
    return RuleLine(
        scale * (rule.x0 + across), scale * (rule.y0 - down), scale * (rule.x1 + across), scale * (rule.y1 - down)
    )


def page_slope(lines: Sequence[TextLine], width: int) -> float:
    """By how much lines fall from left to right, pixels by pixels: the median of the long ones."""
    slopes = []
    for line in lines:
        first, last = line.tokens[0].area, line.tokens[-1].area
        run = last.x0 - first.x0
        if len(line.tokens) > 2 and run >= _LONG_LINE * width:
            slopes.append(_line_slope(line.tokens))
    return median(slopes) if slopes else 0.0


def _line_slope(words: Sequence[OcrToken]) -> float:
    """Least squares through the middles of words."""
    xs = [(word.area.x0 + word.area.x1) / 2 for word in words]
    ys = [(word.area.y0 + word.area.y1) / 2 for word in words]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((a - x) ** 2 for a in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread if spread else 0.0


def _straight_tokens(lines: Sequence[TextLine], width: int, height: int, slope: float) -> tuple[PageToken, ...]:
    """The words as they lie once the page is turned to stand straight."""
    tokens: list[PageToken] = []
    for line in lines:
        gap = "\n\n" if line.opens else "\n"
        for word in line.tokens:
            area = word.area
            across = slope * (area.y0 + area.y1) / 2
            down = slope * (area.x0 + area.x1) / 2
            box = Box(
                (area.x0 + across) / width,
                (area.y0 - down) / height,
                (area.x1 + across) / width,
                (area.y1 - down) / height,
            )
            tokens.append(PageToken(word.text, box, gap, source=len(tokens) + 1, confidence=word.confidence))
            gap = " "
    return tuple(tokens)
