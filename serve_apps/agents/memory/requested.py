"""Facts that a user explicitly asks to be remembered: kept at once, without a model (ME-06)."""

import re

from cluster.state.conversations import SessionFact
from serve_apps.agents.memory.facts import FACT_CHARS

MOST = 3  # of one message
LEAST_NAMED = 3  # words of a promise that say what will be remembered
_ASKED = re.compile(
    r"(?:^|(?<=[.!?\n]))\s*(?:(?:and|also|und|ach ja|by the way|übrigens)[, ]+)?(?:please[, ]+|bitte[, ]+)?"
    r"(?:(?:can|could|will|would) you (?:please )?|(?:kannst|könntest|würdest) du (?:bitte )?|i want you to )?"
    r"(?:remember|memori[sz]e|keep in mind|make a note|take a note|note down|note|don'?t forget|do not forget|"
    r"merke? dir|merken sie sich|vergiss nicht|vergessen sie nicht|notiere?(?: dir)?|behalte?(?: im kopf)?|dir merken)"
    r"(?:\s*,?\s*(?:please|bitte))?"
    r"(?:\s*:\s*|\s*,?\s+(?:that|dass|daß|this|folgendes|for (?:later|next time))[:,]?\s+"
    r"|\s+(?=(?:my|mein|we|wir|i|ich|to)\b))"
    r"(?P<what>[^\n]{3,2000}?)(?=[.!?](?:\s|$)|\n|$)",
    re.IGNORECASE,
)
# An assistant's promise; what follows "to" is a deed, and no memory.
_PROMISED = re.compile(
    r"(?<!\w)(?:i(?:'|’)ll|i (?:will|shall)|ich werde(?: mir)?|ich)(?: (?:gladly|now|also|das|es|gerne|auch))*\s+"
    r"(?:remember|keep (?:that |it |this )?in mind|make a note(?: of (?:that|this|it))?|merke(?:n)? mir|merken)"
    r"(?!\s+to\b)(?P<rest>[^.!?\n]{0,400})(?P<end>[.!?\n]|$)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^[\s,:]*(?:(?:that|dass|daß|this|it|das|es|mir|for (?:you|later|next time))\b[\s,:]*)*", re.IGNORECASE
)
_SUPPOSED = re.compile(r"\b(?:if|once|when|whether|think|hope|wenn|falls|sobald|ob)\b[^.!?\n]*\Z", re.IGNORECASE)
_WISH = re.compile(
    r"\b(?:prefer|like|favou?rite|always|never|want|wish|bevorzug|lieber|mag|immer|niemals|wünsch)", re.IGNORECASE
)


def promised(answer: str, message: str) -> list[SessionFact]:
    """The fact an assistant says that it will remember: its own words, or, where it names nothing, what it was told.

    Args:
        answer: the assistant's.
        message: what the user had said.
    """
    found = []
    for match in _PROMISED.finditer(answer):
        if match["end"] == "?" or _SUPPOSED.search(answer[max(0, match.start() - 200) : match.start()]):
            continue
        named = _LEAD.sub("", " ".join(match["rest"].split())).strip(" ,;:")
        text = named if len(named.split()) >= LEAST_NAMED else " ".join(message.split())
        if text:
            fact = SessionFact("preference" if _WISH.search(text) else "other", "medium", text[:FACT_CHARS])
            found += [] if fact in found else [fact]
    return found[:MOST]


def requested_facts(message: str) -> list[SessionFact]:
    """The facts that a user's message asks to be kept, as they said them; importance high.

    "Remember that …" is a request; "I remember that …", "do you remember …?" and "remember when …" are none.
    """
    found = []
    for match in _ASKED.finditer(message):
        text = " ".join(match["what"].split()).strip(" ,;")[:FACT_CHARS]
        if text and not text.lower().startswith(("when ", "the time ")):
            found.append(SessionFact("preference" if _WISH.search(text) else "other", "high", text))
    return found[:MOST]
