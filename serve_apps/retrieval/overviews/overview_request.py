"""Requests for an overview: a list of documents, or the summary of one. The phrases are our own, English and German."""

import re
from dataclasses import dataclass
from typing import Literal

from serve_apps.retrieval.answers.document_request import extract_subject

LONGEST = 300  # characters; who writes more asks for something else
_MORE_SENTENCES = 10  # a longer summary is a document of its own
_SENTENCES = 5  # where the request does not say how many

_PLURAL = r"(?:documents|docs|files|pdfs|papers|uploads|records|dokumente|dateien|unterlagen)"
_ONE = r"(?:document|doc|file|pdf|paper|dokument|datei)"
_OF = (
    r"(?:(?:the|a|an|all|all of|every|our|my|these|those|available|uploaded|linked|relevant|der|die|das|alle|"
    r"meine|unsere|hochgeladenen?|vorhandenen?)\s+)*"
)
_POLITE = (
    r"^\W*(?:(?:please|pls|hey|hi|hello|ok(?:ay)?|now|bitte|hallo|(?:could|can|would|will) you|kannst du|"
    r"(?:i|we)(?:'d| would)? (?:like|want|need)(?: you)? to)\W+)*"
)
_ABOUT = (
    r"(?:about|on|regarding|concerning|mentioning|containing|named|called|titled|über|zu[mr]?|namens|"
    r"(?:that|which|die)\s+(?:mentions?|talks? about|covers?|deals? with|contains?|(?:is|are) about|erwähnen|"
    r"enthalten))"
)
_LISTS = tuple(
    re.compile(_POLITE + pattern, re.IGNORECASE)
    for pattern in (
        # list my documents; show me all files about grease; liste alle Dokumente zur Messung auf
        rf"(?:list|enumerate|show|name|zeig(?:e)?|liste|nenne)(?:\s+(?:me|us|mir|uns|bitte))*\s+{_OF}{_PLURAL}"
        rf"(?:\s+{_ABOUT}\s+(?P<about>.+?))?(?:\s+auf)?\W*$",
        # which documents do I have; what files mention grease; welche Dateien gibt es
        rf"(?:which|what|welche)\s+{_PLURAL}\s+(?:do (?:i|we) have(?: access to)?|are there|have (?:i|we)(?: got)?|"
        r"are (?:uploaded|available|stored|linked|here)|can (?:i|you|we) (?:see|search|read)|gibt es|haben wir|"
        rf"habe ich|kennst du)(?:\s+{_ABOUT}\s+(?P<about>.+?))?\W*$",
        rf"(?:which|what|welche)\s+{_PLURAL}\s+(?:mention|talk about|cover|deal with|contain|are about|erwähnen|"
        r"handeln von|enthalten)\s+(?P<about>.+?)\W*$",
        # find the file on turbines; where is the document called x
        rf"(?:find|locate|get|open|look for|looking for|search for|where is|finde?|such(?:e)?|öffne)"
        rf"(?:\s+(?:me|us|mir|uns))*\s+{_OF}(?:{_ONE}|{_PLURAL})\s+"
        rf"(?:{_ABOUT}\s+|(?!(?:with|that|which|where|who|in|from|for|of|mit|das|die|in)\b))(?P<about>[^\s?!.].*?)\W*$",
    )
)
_SUMMARIES = tuple(
    re.compile(_POLITE + pattern, re.IGNORECASE)
    for pattern in (
        r"(?:summari[sz]e|sum up|recap|condense|outline)(?:\s+(?:for|to)\s+(?:me|us))?\s+(?P<of>.+?)\W*$",
        r"(?:(?:give|write|make|show|gib|schreib(?:e)?|erstelle)(?:\s+(?:me|us|mir|uns))?\s+)?(?:a|an|the|eine|die)?"
        r"\s*(?:(?:short|brief|quick|kurze)\s+)?(?:summary|overview|outline|gist|zusammenfassung|übersicht)\s+"
        r"(?:of|von|der|des|über|zu[mr]?)\s+(?P<of>.+?)\W*$",
        r"what\s+is\s+(?P<of>.+?)\s+(?:all\s+)?about\W*$",
        r"fass(?:e|en)?(?:\s+(?:mir|uns|bitte|mal|kurz))*\s+(?P<of>.+?)(?:\s+kurz)?\s+zusammen\W*$",
    )
)
_SAYS = re.compile(r"\b(?:what|was|how|wie|that|which|dass)\b", re.IGNORECASE)  # a question stands in it
_THE_DOCUMENT = re.compile(
    rf"^(?:it|(?:this|that|the|dieses?|das|es)(?:\s+(?:same|last|above))?(?:\s+(?:{_ONE}|report|manual|contract|"
    r"letter|text|bericht|vertrag|brief))?)$",
    re.IGNORECASE,
)
_FOR_ME = re.compile(r"(?:\s+(?:for (?:me|us)|please|bitte))+$", re.IGNORECASE)
_ALL = re.compile(rf"^{_OF}{_PLURAL}$", re.IGNORECASE)
_THERE = re.compile(r"(?:the|our|my|this|that|these|der|die|das|de[nmrs]|unser\w*|mein\w*|diese\w*)\s", re.IGNORECASE)
_FILE = re.compile(r"\w\.[a-z][a-z0-9]{1,4}$", re.IGNORECASE)
_COUNT = re.compile(
    r"\s*\b(?:in|with|using|mit)\s+(?:just\s+|only\s+)?(\d{1,2}|one|two|three|four|five|a|einem|zwei|drei|vier|fünf)\s+"
    r"(?:short\s+)?(?:sentences?|lines?|sätzen?|satz|zeilen?)\b",
    re.IGNORECASE,
)
_NUMBERS = {
    **dict.fromkeys(("a", "one", "einem"), 1),
    **dict.fromkeys(("two", "zwei"), 2),
    **dict.fromkeys(("three", "drei"), 3),
    **dict.fromkeys(("four", "vier"), 4),
    **dict.fromkeys(("five", "fünf"), 5),
}


@dataclass(frozen=True, slots=True)
class OverviewRequest:
    """A list of documents about a subject, or a summary of the one that is called so.

    Attributes:
        subject: as it is written. Empty for a list of all documents, and for the document that was spoken of before.
        sentences: how many a summary has at most.
    """

    kind: Literal["list", "summary"]
    subject: str
    sentences: int = _SENTENCES

    @property
    def names_document(self) -> bool:
        """True where the subject is called as one that is there: by a file name, or as `the` or `our` something."""
        return _THERE.match(self.subject) is not None or _FILE.search(self.subject) is not None


def find_overview_request(message: str) -> OverviewRequest | None:
    """The overview that a message asks for; None where it asks for a fact, or for anything else."""
    text = " ".join(message.split())
    if len(text) > LONGEST:
        return None
    counted = _COUNT.search(text)
    sentences = _sentence_count(counted[1]) if counted else _SENTENCES
    text = _COUNT.sub("", text)
    for pattern in _SUMMARIES:
        if (found := pattern.match(text)) and (request := _summary_request(found["of"], sentences)):
            return request
    found = next((found for pattern in _LISTS if (found := pattern.match(text))), None)
    if found is None:
        return None
    about = (found["about"] or "").strip()
    return None if _SAYS.match(about) else OverviewRequest("list", about)


def _summary_request(named: str, sentences: int) -> OverviewRequest | None:
    named = _FOR_ME.sub("", named).strip(" \"'“”„")
    if _ALL.match(named):
        return OverviewRequest("list", "")
    if _THE_DOCUMENT.match(named):
        return OverviewRequest("summary", "", sentences)
    if _SAYS.search(named):
        return None
    subject = extract_subject(named)
    return OverviewRequest("summary", subject, sentences) if subject else None


def _sentence_count(word: str) -> int:
    count = int(word) if word.isdigit() else _NUMBERS[word.lower()]
    return min(max(count, 1), _MORE_SENTENCES)
