"""Page text as HTML with passages marked: everything is escaped, only our own tags are not."""

from collections.abc import Iterable
from html import escape

from pipelines.documents.document import Span


def highlight_spans(text: str, spans: Iterable[Span]) -> str:
    """The text escaped, with `<mark>` around the spans; overlapping and touching spans become one.

    Args:
        text: of one page.
        spans: of the same page; what lies outside the text is cut off.
    """
    out, at = [], 0
    for start, end in _merge_spans(text, spans):
        out += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return "".join([*out, escape(text[at:])])


def _merge_spans(text: str, spans: Iterable[Span]) -> list[tuple[int, int]]:
    cut = sorted((max(0, span.start), min(len(text), span.end)) for span in spans)
    merged: list[tuple[int, int]] = []
    for start, end in cut:
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
