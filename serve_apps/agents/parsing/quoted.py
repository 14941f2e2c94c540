"""Detector of quoted markup: calls shown as an example instead of meant."""

import re

# Only words that say so outright: small models write "you can use this call:" above calls they do mean, and thoughts
# above an action are full of "for example" and "do not know".
_EXAMPLE = re.compile(
    r"\b(?:for (?:example|instance)|e\.g\.|i\.e\.|an example|example(?: \w+){0,2}$|hypothetical\w*"
    r"|(?:would )?looks? like|(?:format|syntax|schema|template|definition) (?:is|for|of)"
    r"|(?:do not|don't|must not|should not|shouldn't|never|not) (?:write|call|use|run|output|send|emit|reply|answer)"
    r"|instead of (?:writing|calling)?|already (?:called|ran|used)|previous (?:call|turn)s?(?: was)?$)",
    re.IGNORECASE,
)
_OVER = re.compile(r"\bexamples? (?:of|for) (?:a|an|the|such|using|calling|its)\b|\bhypothetical", re.IGNORECASE)
_BEFORE = 160
_LINE = 400


def is_quoted(text: str, start: int) -> bool:
    """True if the call at `start` is quoted, inside inline code, in an indented block, or announced as an
    example by the sentence that leads to it."""
    line_start = text.rfind("\n", 0, start) + 1
    opening = text[line_start : min(start, line_start + 8)]
    line = text[max(line_start, start - _LINE) : start]
    if opening.lstrip()[:1] == ">" and not opening.lstrip().startswith(">>>"):
        return True
    returned = text.startswith("return ", start)  # stands indented because that is how functions are written
    if not line.strip() and len(line.expandtabs(4)) >= 4 and not returned and _has_unindented_line(text):
        return True
    if line.rstrip()[-1:] in ('"', "'", "“", "‘", "\\") and line.strip("\"'“‘ ") != "":
        return True
    if line.count("`") % 2 == 1 and line.replace("`", "").strip():
        return True
    before = text[max(0, start - _BEFORE) : start].rstrip(" \t\n`*_<>|[]")
    announced = before[-1:] not in (".", "!", "?")
    sentence = re.split(r"\n\s*\n|(?<=[.!?])\s", before)[-1].rstrip(": ")
    return (_EXAMPLE if announced else _OVER).search(sentence) is not None


def _has_unindented_line(text: str) -> bool:
    return any(line[:1] not in (" ", "\t", "") for line in text[:20_000].splitlines())
