"""Subject of a request to the documents, without the words that only say what is to be done with them.

"Search the documents for the torque of the lid" asks for the torque of the lid: `search`, `documents` and `for` stand
in no sentence that answers it, and would count against every one that does. The phrases are our own, in English and
German.
"""

import re

from serve_apps.retrieval.text.words import content_words, fold_word, word_tokens

LONGEST = 2_000  # characters that are looked at; a longer message is material, and stays as it is

# Whatever holds the answer. What a kind of document is called (`manual`) may also be a part of the question.
_ANY = (
    r"(?:documents?|docs?|files?|pdfs?|papers|uploads?|records|archives?|library|knowledge[ -]?base|document store|"
    r"dokumente?n?s?|dateien?|datei|unterlagen?|akten?|ablage|archiv|wissensdatenbank)"
)
_KIND = (
    r"(?:manuals?|hand ?books?|guides?|guidelines?|polic(?:y|ies)|contracts?|agreements?|reports?|letters?|invoices?|"
    r"scans?|specifications?|specs?|instructions|notes|wiki|spreadsheets?|"
    r"handbuchs?|handbücher[n]?|anleitung(?:en)?|vertrags?|verträgen?|berichte?n?s?|rechnung(?:en)?|richtlinien?|"
    r"schreiben|protokolle?n?|betriebsanleitung|vorschrift(?:en)?)"
)
_HOLDER = rf"(?:{_ANY}|{_KIND})"
_OF = (
    r"(?:(?:the|a|an|any|all|every|each|some|our|my|your|their|these|those|this|that|of|linked|uploaded|stored|"
    r"company|internal|"
    r"available|relevant|der|die|das|den|dem|des|ein|eine[mnrs]?|unsere?[mnrs]?|meine?[mnrs]?|eure?[mnrs]?|"
    r"ihre?[mnrs]?|"
    r"alle[nmrs]?|diese[mnrs]?|jede[mnrs]?|sämtliche[nr]?|hochgeladene[nr]?|vorhandene[nr]?|irgendeine[mnrs]?)\s+)"
)
_ABOUT = (
    r"(?:\s*:|\s+(?:(?:(?:and|to|und)\s+)?(?:tell me|find out|find|see|check|look)(?:\s+(?:for|up))?|for|about|on|"
    r"regarding|concerning|"
    r"with|containing|mentioning|named|called|titled|of|from|whether|if|nach|zu[mr]?|über|mit|von|namens|"
    r"(?:that|which|where|die|das|der|in (?:dem|der|denen))\s+(?:it\s+)?"
    r"(?:says?|mentions?|talks? about|explains?|covers?|describes?|deals? with|contains?|holds?|has|have|is about|"
    r"are about)|(?:that|which)\s+(?:is|are)))"
)
_POLITE = (
    r"(?:please|pls|kindly|hey|hi|hello|ok(?:ay)?|so|now|then|also|bitte|hallo|mal|"
    r"(?:could|can|would|will) (?:you|we)|(?:i|we)(?:'d| would| want| need| wish| will)?(?: like)?(?: you)? to|"
    r"help (?:me|us)(?: to)?|let'?s|kannst du|könntest du|können sie|könnten sie|würdest du|würden sie|"
    r"ich (?:möchte|will|muss)(?: gerne?)?(?: wissen)?)"
)
_FOR_ME = r"(?:\s+(?:me|us|out|up|mir|uns|bitte|mal|doch|für mich))*"

_LEADS = tuple(
    re.compile(rf"^[\s,.:;!\-–—]*{pattern}(?![\w])[\s,:]*", re.IGNORECASE)
    for pattern in (
        _POLITE,
        # search the documents for …; durchsuche die Unterlagen nach …
        rf"(?:search|look|check|scan|browse|consult|query|go|dig|grep|(?:durch)?such(?:e|en|st|t)?|schau(?:e|en)?|sieh)"
        rf"{_FOR_ME}(?:\s+(?:in|into|through|within|across|over|at|durch|alles))*\s+{_OF}*{_ANY}(?:\s+nach)?{_ABOUT}?",
        # find the file about …; list all documents that mention …; finde die Datei über …
        rf"(?:find|finde[nt]?|get|show|open|locate|fetch|retrieve|give|pull up|bring up|list|name|look(?:ing)? for|"
        rf"(?:i|we) need|"
        rf"(?:i'm|i am|we are|we're) looking for|where is|zeig(?:e|en)?|liste[nt]?|nenne[n]?|öffne[n]?|such(?:e|en)?|"
        rf"gib|(?:ich|wir) (?:brauchen?|suchen?)){_FOR_ME}\s+{_OF}*{_ANY}(?:\s+auf)?{_ABOUT}?",
        # which documents mention …; is there a file on …; in welchem Dokument steht …
        rf"(?:in )?(?:which|what|welche[mnrs]?)\s+(?:of {_OF}+)?{_ANY}(?!\s+(?:do(?! we have)|does|did|should|must|"
        rf"can|will)\b)(?:\s+(?:do we have|have we got|steht|stehen))?"
        rf"(?:\s+(?:mentions?|talks? about|explains?|says?|cover(?:s|ed)?|describes?|deals? with|contains?|holds?|"
        rf"has|have|is|are|enthält|enthalten|erwähn(?:t|en)|handel[tn] von|gibt es))?{_ABOUT}?",
        rf"(?:is there|are there|do (?:we|you|i) have|have (?:we|you|i)(?: got)?|gibt es|haben wir|hast "
        rf"du)\s+{_OF}*{_ANY}{_ABOUT}?",
        # what do the documents say about …; was steht im Handbuch über …
        rf"(?:what|where)\s+(?:do|does|did)\s+{_OF}*{_HOLDER}\s+"
        rf"(?:say|state|tell(?: (?:us|me))?|mention|specify|write|explain|have to say)(?:\s+(?:about|on|of|regarding|"
        rf"for))?",
        rf"was\s+(?:steht|sag(?:t|en)|schreib(?:t|en))\s+(?:(?:in|im|zu)\s+)?{_OF}*{_HOLDER}(?:\s+(?:über|zu[mr]?|"
        rf"von))?",
        rf"what(?: is|'s)\s+(?:in|written in|said in)\s+{_OF}*{_HOLDER}\s+(?:about|on|regarding|concerning)",
        # summarize …; give me a summary of …
        r"(?:summari[sz]e|sum up|recap|condense|outline|resume|zusammenfassen)(?:\s+(?:for|to) (?:me|us))?",
        r"(?:(?:give|write|make|show|gib|schreib(?:e)?|erstell(?:e)?)(?:\s+(?:me|us|mir|uns))?\s+)?(?:a |an |the |"
        r"eine |die )?"
        r"(?:(?:short|brief|quick|kurze) )?(?:summary|overview|outline|gist|zusammenfassung|übersicht)\s+(?:of|on|"
        r"about|von|der|des|über|zu[mr]?)",
        rf"what\s+{_OF}*{_HOLDER}\s+says?\s+(?:about|on)",
        rf"(?:find|get|show|give|tell|list){_FOR_ME}\s+(?:everything|anything|something|(?:all )?(?:the "
        rf")?(?:information|info|passages?)){_ABOUT}",
        r"(?:in )?(?:the|which|what) (?:passages?|sections?|places?|parts?|pages?) (?:where|that says?|in which)",
        # search for …; find out …; list …
        r"(?:search(?:ing)? for|look(?:ing)? for|look up|find out|find|locate|list|enumerate|tell (?:me|us)(?: "
        r"about)?|show (?:me|us)|"
        r"such(?:e|en)?(?: mir| uns)? nach|finde(?: mir| uns)?(?: heraus)?|zeig(?:e)?(?: mir| uns)?|liste(?: mir| "
        r"uns)?|nenne(?: mir| uns)?)(?:\s+(?:all|every|alle[nrs]?|sämtliche))?",
        r"search(?:\s*:)?(?=\s)",
    )
)
# According to our manual, …; … in the documents
_ASIDE = re.compile(
    rf"(?<!\w)(?:(?:according to|as per|per|based on|going by|in accordance with|in line with|laut|gemäß|"
    rf"entsprechend|nach)\s+{_OF}*"
    rf"|(?:in|from|within|inside|across|in|aus|nach|auf)\s+{_OF}+|(?:im|beim)\s+)(?:{_HOLDER})(?!\w)\s*,?",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:[\s,;]+(?:please|bitte|thanks|thank you|danke|(?:and |und )?(?:quote|cite|name|nenne)(?: me)?(?: the| your| "
    r"die)? (?:pages?|sources?|seiten?|quellen?)|"
    r"with (?:the )?(?:page numbers?|pages?|sources?|citations?)|mit (?:seitenzahl(?:en)?|quellen(?:angabe)?)|"
    r"zusammen|auf|heraus))+(?=[\s.!?]*$)",
    re.IGNORECASE,
)
_FRAMED = re.compile(
    r"^[\s,]*fass(?:e|en|t)?(?:\s+(?:mir|uns|bitte|mal|kurz))*\s+(.{3,}?)(?:\s+kurz)?\s+zusammen[\s.!?]*$",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = """search searches searching find finds list show open locate look fetch retrieve summarize summarise
summary sum document documents doc docs file files pdf pdfs upload uploads archive library paper papers
record records please thanks thank hello tell can need want help say says know such suche suchen finde
liste zeige fasse zusammen dokument dokumente dokumenten datei dateien unterlagen bitte nach über mir auf
die der das den alle"""
_COMMANDS = frozenset(fold_word(word) for word in _WORDS.split())


def extract_subject(message: str) -> str:
    """The message without its command, as it is written; empty where it is a command and nothing else.

    What is left may be one word. A message that a rule would leave without any of its own words stays as it is.
    """
    if len(message) > LONGEST:
        return message
    text = message.strip()
    if framed := _FRAMED.match(text):
        text = framed.group(1)
    text = _strip_leads(text)
    text = _strip_leads(" ".join(_ASIDE.sub(" ", text).split()))
    text = _TAIL.sub("", text).strip()
    if content_words(text) and not _is_command(text):
        return text
    return "" if _is_command(message) else message.strip()


def _strip_leads(text: str) -> str:
    """Without the phrases it begins with, one after the other."""
    while text:
        shorter = next((text[found.end() :] for lead in _LEADS if (found := lead.match(text)) and found.end()), None)
        if shorter is None:
            return text
        text = shorter
    return text


def _is_command(text: str) -> bool:
    """True where no word of it asks for anything that a document could say."""
    return {one.word for one in word_tokens(text) if one.word in content_words(one.text)} <= _COMMANDS
