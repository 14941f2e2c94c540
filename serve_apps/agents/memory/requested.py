"""What somebody asks to be remembered, in so many words: kept at once, without a model (ME-06)."""

import re

from cluster.state.conversations import Fact
from serve_apps.agents.memory.facts import FACT_CHARS

MOST = 3  # of one message
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
_WISH = re.compile(
    r"\b(?:prefer|like|favou?rite|always|never|want|wish|bevorzug|lieber|mag|immer|niemals|wünsch)", re.IGNORECASE
)


def requested(message: str) -> list[Fact]:
    """The facts that a user's message asks to be kept, as they said them; importance high.

    "Remember that …" is a request; "I remember that …", "do you remember …?" and "remember when …" are none.
    """
    found = []
    for match in _ASKED.finditer(message):
        text = " ".join(match["what"].split()).strip(" ,;")[:FACT_CHARS]
        if text and not text.lower().startswith(("when ", "the time ")):
            found.append(Fact("preference" if _WISH.search(text) else "other", "high", text))
    return found[:MOST]
