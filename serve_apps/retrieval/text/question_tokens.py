"""A question as its pieces: contractions and politeness undone, words, numbers, identifiers and quotes told apart."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuestionToken:
    """A piece, in lower case."""

    text: str
    sort: str  # `word`, `number`, `code` (an identifier), `quoted`, `unit`, `comma`, or `end` of a sentence
    capital: bool = False  # it was written with one, and not because a sentence begins


_CONTRACTED = (
    (re.compile(r"\bcan['’]t\b|\bcannot\b", re.I), "can not"),
    (re.compile(r"\bwon['’]t\b", re.I), "will not"),
    (re.compile(r"n['’]t\b", re.I), " not"),
    (re.compile(r"\b(what|who|where|when|why|how|that|there|it|he|she|here)['’]s\b", re.I), r"\1 is"),
    (re.compile(r"['’]re\b", re.I), " are"),
    (re.compile(r"['’]ve\b", re.I), " have"),
    (re.compile(r"['’]ll\b", re.I), " will"),
    (re.compile(r"['’][dm]\b", re.I), " "),
    (re.compile(r"(?<=\w)['’](s\b|(?=\s|$))", re.I), " "),  # a genitive
)
_POLITE = re.compile(
    r"^\s*(?:(?:hi|hello|hey|please|kindly|ok|okay|excuse me|good (?:morning|day|evening)|yes)\b[\s,!.]*"
    r"|(?:can|could|would|will) (?:you|anyone|someone|anybody) (?:please |kindly )?"
    r"(?:tell|show|explain to|inform|give) (?:me|us)\b(?: know)?[\s,]*"
    r"|(?:can|could|would|will) you (?:please |kindly )?let (?:me|us) know[\s,]*"
    r"|(?:i|we) (?:want|need|would like|like|wish|am trying) to (?:know|find out|understand|learn|ask)[\s,]*"
    r"|(?:i|we) (?:am|are|was|were)? ?(?:wondering|wonder)[\s,]+"
    r"|(?:do|does) (?:you|anyone|anybody|someone) (?:happen to )?know[\s,]+"
    r"|(?:tell|show) (?:me|us)[\s,]+(?:about )?|let (?:me|us) know[\s,]+)",
    re.I,
)
_THANKS = re.compile(r"[\s,.!?]+(?:please|thanks|thank you)(?: (?:very|so) much| in advance)?[\s!.?]*$", re.I)
_ASKED_AS = tuple(
    (re.compile(pattern, re.I), plain)
    for pattern, plain in (
        (
            r"\b(?:what|which) (?:is|are|would be) (?:the|a|some) (?:ways?|methods?|process|procedures?|steps?|means)"
            r" (?:for|of|to)\b",
            "how to",
        ),
        (r"\bin (?:what|which) ways?\b|\bby what means\b", "how"),
        (r"\b(?:what is|what was|what are) the reasons? (?:for|that|why|behind)\b|\bfor what reason\b", "why"),
        (r"\bat what time\b|\bon what date\b", "when"),
        (r"\b(?:in|at) (?:what|which) (?:place|location)\b", "where"),
        (r"\b(?:in order|so as) to\b", "to"),
        (r"\b(?:is|are) (?:able|allowed) to\b", "can"),
        (r"\b(?:it is|is it) (?:possible|feasible) (?:for \w+ )?to\b", "can"),
        (r"\b(?:has|have|needs?) to\b", "must"),
        (r"\bprior to\b", "before"),
        (r"\bsuch as\b", "like"),
        (r"\ba lot of\b|\blots of\b", "many"),
    )
)
_PIECES = re.compile(
    r"(?P<quoted>\"[^\"]{1,200}\"|“[^”]{1,200}”|`[^`]{1,200}`)"
    r"|(?P<number>(?<![\w.])[$€£]?\d+(?:[.,:/-]\d+)*(?!\w))"
    r"|(?P<code>[^\s,;?!()\"]{0,60}\w[_\\/@#:=<>+*.\-]+\w[^\s,;?!()\"]*(?:\(\))?|\w*(?:\d|_)\w*(?:\(\))?|\w+\(\)|\w+(?:\+\+|\#))"
    r"|(?P<word>[^\W\d_]+)|(?P<unit>[%$€£°])|(?P<comma>,)|(?P<end>[.;!?])"
)
_EXPONENT = re.compile("([⁺⁻]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")


def unify_characters(text: str) -> str:
    """One spelling (Unicode's NFKC) of what is written in several, but that `2²` is `2^2`, and not 22."""
    return unicodedata.normalize("NFKC", _EXPONENT.sub(r"^\1\2", text))


def spelled_out(text: str) -> str:
    """Without contractions, genitives and politeness; what may be asked in several ways is asked in one."""
    text = " ".join(unify_characters(text).split())
    if "'" in text or "’" in text or "annot" in text:
        for pattern, plain in _CONTRACTED:
            text = pattern.sub(plain, text)
    text = " ".join(_THANKS.sub("", text).split())
    while (polite := _POLITE.match(text)) and polite.end() < len(text):
        text = text[polite.end() :]
    for pattern, plain in _ASKED_AS:
        text = pattern.sub(plain, text)
    return text


def split_tokens(text: str) -> Iterator[QuestionToken]:
    """In their order."""
    first = True  # of a sentence: there every word has a capital
    for match in _PIECES.finditer(text):
        sort, piece = match.lastgroup or "", match.group()
        capital = piece[:1].isupper() and not (first and not piece.isupper())
        if sort == "code":
            piece = piece.rstrip(".:'\")]>")
            if _HYPHENED.fullmatch(piece):
                sort = "word"
        if piece:
            yield QuestionToken(piece.strip('"“”` ').lower(), sort, capital)
        first = sort == "end"
