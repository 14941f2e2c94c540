"""Raised and lowered runs of a PDF page: footnote marks, powers and indices, kept apart from what they stand at."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.documents.extract.pdf.glyphs import Glyph, TextRun

_LONGEST = 12  # characters; a longer run is a line of its own
_NEAR = 0.35  # of the base's size, between the two
_OVERLAP = 0.4
_SMALLER = 0.9  # of the base's size; a run as large as its base must be shifted further
_RAISED, _LOWERED, _SHIFTED = 0.1, -0.06, 0.2  # of the base's size, between the two base lines
_HIGHEST, _LOWEST = 1.0, -0.6
_SPACE = 0.2  # of the size: what stands further apart are two words
_SMALL_DIGIT = 0.25  # of the size: a digit that begins so far above its line is a raised sign of its font

_UP = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_DOWN = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SIGNS = {"TM": "™", "SM": "℠", "tm": "™"}
_ORDINALS = {"st", "nd", "rd", "th", "er", "re", "ère", "e", "ème", "o", "º", "ª"}


@dataclass(frozen=True, slots=True)
class _Segment:
    """Neighbours of one size on one base line: glyphs [start, end), their run, and where they begin and end."""

    start: int
    end: int
    run: TextRun
    begins: float
    ends: float


def set_apart(glyphs: Sequence[Glyph]) -> list[Glyph]:
    """The glyphs with raised and lowered ones as Unicode has them (`1250²`, `H₂O`), else in brackets (`1250 [a]`).

    They do not end the line that they stand in, though pdfium takes the step for a line end.
    """
    result = [_small_digit(glyph) if "0" <= glyph.char <= "9" else glyph for glyph in glyphs]
    segments = _run_segments(result)
    drop: set[int] = set()
    spaced: set[int] = set()
    for number, segment in enumerate(segments):
        text = "".join(glyph.char for glyph in result[segment.start : segment.end])
        if not text.strip() or len(text) > _LONGEST or segment.run.size <= 0:
            continue
        before = segments[number - 1] if number else None
        after = segments[number + 1] if number + 1 < len(segments) else None
        up = None
        if before and _is_near(before, segment):
            up = _shift_direction(before.run, segment.run)
        if up is None and after and _is_near(segment, after):
            up = _shift_direction(after.run, segment.run)
        if up is None:
            continue
        base = result[before.end - 1].char[-1:] if before and _is_near(before, segment) else ""
        _rewrite_run(result, segment, up, base, spaced)
        if before and _is_near(before, segment):
            _close_gap(result, before, segment, drop, spaced)
        if after and _is_near(segment, after, loose=True) and _same_line(segment.run, after.run):
            _close_gap(result, segment, after, drop, spaced)
    return _assemble_glyphs(result, drop, spaced)


def _run_segments(glyphs: Sequence[Glyph]) -> list[_Segment]:
    found: list[_Segment] = []
    start = 0
    while start < len(glyphs):
        run = glyphs[start].run
        if run is None:
            start += 1
            continue
        end = start + 1
        while end < len(glyphs) and (
            (other := glyphs[end].run) is run or (other is not None and _same_setting(run, other))
        ):
            end += 1
        shown = [glyph for glyph in glyphs[start:end] if not glyph.char.isspace()] or [glyphs[start]]
        found.append(_Segment(start, end, run, _glyph_extent(shown[0])[0], _glyph_extent(shown[-1])[1]))
        start = end
    return found


def _same_setting(run: TextRun, other: TextRun) -> bool:
    same = abs(run.size - other.size) <= 0.05 * run.size and abs(run.level - other.level) <= 0.03 * run.size
    return same and run.along == other.along


def _glyph_extent(glyph: Glyph) -> tuple[float, float]:
    """Start and end of a glyph along its line."""
    x, y = glyph.run.along if glyph.run else (1.0, 0.0)
    if y == 0:
        return glyph.left, glyph.right
    corners = [a * x + b * y for a in (glyph.left, glyph.right) for b in (glyph.bottom, glyph.top)]
    return min(corners), max(corners)


def _is_near(left: _Segment, right: _Segment, loose: bool = False) -> bool:
    size = max(left.run.size, right.run.size)
    gap = right.begins - left.ends
    return left.run.along == right.run.along and -_OVERLAP * size <= gap <= (1.0 if loose else _NEAR) * size


def _shift_direction(base: TextRun, run: TextRun) -> bool | None:
    """True for a run that is raised from its base, False for a lowered one, None where it is neither."""
    if base.size <= 0 or base.hidden != run.hidden:
        return None
    shift = (run.level - base.level) / base.size
    smaller = run.size <= _SMALLER * base.size
    if (_RAISED if smaller else _SHIFTED) <= shift <= _HIGHEST and run.size <= 1.05 * base.size:
        return True
    if _LOWEST <= shift <= (_LOWERED if smaller else -_SHIFTED) and run.size <= 1.05 * base.size:
        return False
    return None


def _same_line(run: TextRun, after: TextRun) -> bool:
    return abs(run.level - after.level) <= _HIGHEST * max(run.size, after.size)


def _rewrite_run(glyphs: list[Glyph], segment: _Segment, up: bool, base: str, spaced: set[int]) -> None:
    """Change the run's characters in place; `spaced` collects those before which a blank must stand."""
    shown = [at for at in range(segment.start, segment.end) if not glyphs[at].char.isspace()]
    text = "".join(glyphs[at].char for at in shown)
    table = _UP if up else _DOWN
    if all(ord(char) in table for char in text) and any(char.isdigit() or char == "n" for char in text):
        for at in shown:
            glyphs[at] = glyphs[at]._replace(char=glyphs[at].char.translate(table))
    elif up and text in _SIGNS:
        glyphs[shown[0]] = glyphs[shown[0]]._replace(char=_SIGNS[text])
        for at in shown[1:]:
            glyphs[at] = glyphs[at]._replace(char="")
    elif _must_be_apart(text, up, base):
        first, last = shown[0], shown[-1]
        glyphs[first] = glyphs[first]._replace(char="[" + glyphs[first].char)
        glyphs[last] = glyphs[last]._replace(char=glyphs[last].char + "]")
        spaced.update((first, segment.end))


def _must_be_apart(text: str, up: bool, base: str) -> bool:
    """True if a run without Unicode signs of its own would be read as a part of what it stands at."""
    if not any(char.isalnum() for char in text):
        return False
    if any(char.isdigit() for char in text):
        return True
    if base.isdigit():
        return not (up and text.lower().rstrip(".") in _ORDINALS)
    return up and len(text) == 1 and base.isalnum()


def _close_gap(glyphs: Sequence[Glyph], left: _Segment, right: _Segment, drop: set[int], spaced: set[int]) -> None:
    """Take out what pdfium put between two runs of one line; words that stand apart get a blank."""
    between = range(left.end, right.start)
    drop.update(at for at in between if glyphs[at].run is None)
    far = right.begins - left.ends > _SPACE * max(left.run.size, right.run.size)
    if far and not glyphs[left.end - 1].char.isspace() and not glyphs[right.start].char.isspace():
        spaced.add(right.start)


def _assemble_glyphs(glyphs: Sequence[Glyph], drop: set[int], spaced: set[int]) -> list[Glyph]:
    if not drop and not spaced:
        return [glyph for glyph in glyphs if glyph.char]
    result = []
    for at, glyph in enumerate(glyphs):
        if at in drop or not glyph.char:
            continue
        if at in spaced and not glyph.char.isspace():
            result.append(Glyph(" ", glyph.left, glyph.bottom, glyph.left, glyph.top, None))
        result.append(glyph)
    return result


def _small_digit(glyph: Glyph) -> Glyph:
    """A digit that its font draws raised (the feature `sups`): neither its size nor its base line tells."""
    run = glyph.run
    if run is None or run.along != (1.0, 0.0) or run.size <= 0 or run.hidden:
        return glyph
    above = (glyph.bottom - run.level) / run.size
    if _SMALL_DIGIT <= above <= 0.8 and glyph.top - glyph.bottom <= 0.55 * run.size:
        return glyph._replace(char=glyph.char.translate(_UP))
    return glyph
