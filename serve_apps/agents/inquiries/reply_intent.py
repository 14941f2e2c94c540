"""Decides by a person's own words: whole phrases, negations first; anything else decides nothing (B-12)."""

import re
from collections.abc import Sequence
from enum import StrEnum


class Intent(StrEnum):
    """Meanings of a reply to a question of yes or no."""

    APPROVE = "approve"
    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"
    UNCLEAR = "unclear"


# Words that neither decide nor change what is decided; alone they say nothing.
_FILLERS = (
    *("please", "bitte", "thanks", "thank you", "danke", "now", "jetzt", "right away", "sofort", "then", "dann"),
    *("the plan", "with it", "with that", "with this"),
)
_YES = (
    "yes", "yep", "yup", "yeah", "y", "ja", "jawohl", "jep", "sure", "of course", "ok", "okay", "k", "absolutely",
    "definitely", "certainly", "klar", "gerne", "na klar", "natürlich", "go", "go ahead", "go for it", "do it",
    "do that", "proceed", "continue", "approve", "approved", "approve it", "i approve", "confirm", "confirmed",
    "i confirm", "i agree", "agreed", "accept", "accepted", "correct", "that is correct", "thats correct",
    "that is right", "thats right", "right", "looks good", "looks good to me", "lgtm", "sounds good", "thats fine",
    "that is fine", "fine", "mach das", "mach es", "machen", "mach", "in ordnung", "einverstanden", "genehmigt",
    "bestätigt", "ich bestätige", "freigegeben", "passt", "passt so", "stimmt", "richtig", "los",
)  # fmt: skip
_NO = (
    "no", "nope", "nah", "n", "nein", "nö", "never", "no way", "no thanks", "nein danke", "dont", "do not",
    "dont do it", "do not do it", "dont do that", "do not do that", "better not", "rather not", "id rather not",
    "please dont", "not approved", "dont approve", "do not approve", "i dont approve", "i do not approve",
    "dont approve it", "i disagree", "disagree", "not ok", "not okay", "reject", "rejected", "reject it", "i reject",
    "decline", "declined", "refuse", "refused", "deny", "denied", "cancel", "cancel it", "cancel that", "abort",
    "stop", "stop it", "nicht", "lieber nicht", "bitte nicht", "mach das nicht", "mach es nicht", "tu das nicht",
    "nicht machen", "auf keinen fall", "abgelehnt", "ablehnen", "abbrechen", "stopp", "nicht einverstanden",
    "nicht genehmigt",
)  # fmt: skip
_NEGATION = re.compile(
    r"\b(?:no|not|dont|doesnt|didnt|cant|cannot|wont|wouldnt|shouldnt|isnt|never|nobody|nothing|none|without|stop|cancel"
    r"|reject|refuse|deny|abort|nein|nicht|nie|niemals|kein\w*|ohne|stopp|abbrechen)\b"
)
_TWICE = re.compile(r"\b(?:dont|do not|not|nicht)\b.*\b(?:stop|cancel|reject|refuse|deny|decline|abort|disagree|no)\b")
_CHANGES = re.compile(
    r"^(?:(?:no|nope|nein|yes|yeah|ok|okay|ja|please|bitte|almost|fast)\s+)*(?:but|except|only if|instead|rather use"
    r"|change|modify|adjust|edit|replace|rename|make (?:it|that|this)|use .+ instead|with .+ instead|aber|außer"
    r"|nur wenn|stattdessen|ändere?|ändern|passe?|ersetze?|nimm|nehmen sie)\s+\S|\S.*\s(?:instead|stattdessen)$"
)
_APOSTROPHES = re.compile(r"['’`´]")
_NO_WORD = re.compile(r"[^\w\s]+")


def _phrases(phrases: Sequence[str]) -> re.Pattern[str]:
    """Pattern of at least one of the phrases, with fillers and more of them around it, and nothing else."""

    def anyone(texts: Sequence[str]) -> str:
        return "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))

    filled = f"(?:(?:{anyone(_FILLERS)})\\s+)*"
    one = f"(?:{anyone(phrases)})"
    return re.compile(f"{filled}{one}(?:\\s+(?:{anyone((*phrases, *_FILLERS))}))*")


_IS_YES, _IS_NO = _phrases(_YES), _phrases(_NO)


def intent_of(reply: str) -> Intent:
    """The decision in a reply. A no is looked for first, and a yes with any negation in it is none."""
    said = " ".join(_NO_WORD.sub(" ", _APOSTROPHES.sub("", reply.casefold())).split())
    if _IS_NO.fullmatch(said) and not _TWICE.search(said):
        return Intent.REJECT
    if _CHANGES.search(said):
        return Intent.REQUEST_CHANGES
    if _NEGATION.search(said):
        return Intent.UNCLEAR
    return Intent.APPROVE if _IS_YES.fullmatch(said) else Intent.UNCLEAR


def chosen(reply: str, options: Sequence[str]) -> str | None:
    """The option that a reply names, by its whole text or its number; None where it names none, or several."""
    said = " ".join(reply.casefold().split()).strip(" .!\"'")
    named = [one for one in options if " ".join(one.casefold().split()) == said]
    if len(named) == 1:
        return named[0]
    number = re.fullmatch(r"(?:(?:option|number|nr|no|nummer|#)\s*\.?\s*)?(\d{1,3})[.)]?", said)
    at = int(number[1]) if number else 0
    return options[at - 1] if 1 <= at <= len(options) else None
