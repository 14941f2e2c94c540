"""Texts that try to change what an assistant is told: patterns that we wrote, on a folded copy of the text.

They are the wording of known families (set aside the rules, become somebody without rules, show the hidden prompt,
forge the frame of a conversation, plant orders for later). They find what announces itself, not every attack: what
keeps a remembered text from acting is that it is told as data, whether or not a pattern knows it.
"""

import re
import unicodedata
from collections.abc import Mapping
from enum import StrEnum


class InjectionAttempt(StrEnum):
    """Kind of a prompt injection."""

    OVERRIDE = "override"
    PERSONA = "persona"
    EXTRACT = "extract"
    FORGE = "forge"
    PLANT = "plant"


_DROP = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|discard|abandon"
    r"|violate|unlearn|set aside|throw away|do not (?:follow|obey)|don.?t (?:follow|obey)|stop (?:following|obeying))"
)
_WHICH = (
    r"(?:all|any|every|each|the|your|my|our|of|these|those|previous|prior|preceding|above|earlier|former|past"
    r"|following|existing|current|original|initial|system|safety|content|ethical|openai|other|and|or|before"
    r"|set|programmed|default|usual)"
)
_RULES = (
    r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|orders|programming"
    r"|training|context|polic(?:y|ies)|restrictions?|safeguards?|filters?|constraints?|limitations?|messages?)"
)
_AI = r"(?:ai|a\.i\.|assistant|chatbot|bot|language model|llm|model|agent|character|persona|entity)"
_FREE = (
    r"(?:unrestricted|unfiltered|uncensored|unlimited|amoral|immoral|unethical|evil|jailbroken|rogue"
    r"|no-?rules?|lawless|unbound|unhinged|unbiased and uncensored)"
)

_PATTERNS: Mapping[InjectionAttempt, tuple[str, ...]] = {
    InjectionAttempt.OVERRIDE: (
        rf"\b{_DROP} (?:\w+ ){{0,2}}?(?:{_WHICH} ){{1,6}}{_RULES}\b",
        rf"\b{_DROP} (?:all|everything|anything)(?: that| which)? (?:you|i|we|was|has|is|above|before|prior)\b",
        rf"\b{_DROP} (?:all |everything )?(?:of )?(?:the )?(?:above|foregoing)\b",
        r"\b(?:your|the) (?:new|real|true|actual|only) (?:instructions?|task|rules?|directives?|purpose) (?:is"
        r"|are|now)\b",
        r"\bstop everything\b.{0,20}\b(?:now|just|print|say)\b",
        r"\b(?:not|never|no longer|aren.?t|isn.?t) (?:\w+ ){0,3}(?:bound|limited|restricted|constrained"
        r"|governed|confined) (?:by|to)\b",
        r"\b(?:broken?|break|breaking) (?:free|out) (?:of|from) (?:the |your |all )?(?:\w+ ){0,3}(?:confines"
        r"|rules|restrictions|limits|chains)\b",
    ),
    InjectionAttempt.PERSONA: (
        r"\bdo anything now\b|\bdan mode\b|\bdeveloper mode (?:enabled|output|on|v2)\b|\bdeveloper"
        r" mode\b.{0,40}\bresponse\b|\bjail ?br(?:eak|oken) (?:mode|enabled|prompt|ai|response)\b|\bgod mode enabled\b",
        rf"\b(?:act|behave|respond|answer|reply|speak|play|pose|roleplay|role-play) (?:\w+ ){{0,4}}(?:as|like|the"
        rf" role of|the part of) (?:\w+ ){{0,6}}?{_FREE}\b",
        rf"\b(?:you are|you.?re|you will be|you will become|become) (?:now |going to (?:be|act as|play|pretend)"
        rf" )?(?:\w+[ ,]+){{0,5}}?{_FREE} (?:\w+ ){{0,3}}{_AI}\b",
        r"\bfrom (?:now|this moment|here) on,? (?:\w+ ){0,3}?(?:you are|you.?re|you will be|you will act|you are"
        r" going to (?:act|be|pretend)|act as|pretend)\b",
        r"\b(?:pretend|imagine|simulate|immerse yourself|you are going to act|you will act|you.?ll"
        r" act)\b.{0,80}\b(?:no|without|free of|free from|lacks?|doesn.?t have|does not have|never refuses?|not"
        r" have) (?:\w+ ){0,3}?(?:rules|restrictions?|limits|limitations?|filters?|filtering|boundaries|ethics"
        r"|ethical|moral|morals|guidelines|censorship|safeguards)\b",
        r"\b(?:no|without|free of|free from|lacks?|ignores?|bypass(?:es)?) (?:any |all |your |the |of )*(?:\w+"
        r" (?:or|and) )?(?:ethical|moral|openai|safety|content|usage) (?:or \w+ |and \w+ )?(?:guidelines?"
        r"|restrictions?|limits?|limitations?|boundaries|constraints?|filters?|polic(?:y|ies)|rules|standards"
        r"|programming)\b",
        r"\bstay(?:s|ing)? in character\b|\b(?:break|breaking|broke) (?:of )?character\b|\bnever (?:refuse"
        r"|decline|reject)s? (?:\w+ ){0,3}(?:request|question|order|command|instruction|task|prompt|answer)",
        r"\b(?:regardless of|no matter|irrespective of|even if)\b.{0,60}\b(?:illegal|immoral|unethical|harmful"
        r"|offensive|legality|morality|legal or ethical)\b",
        r"\byou (?:can|must|will|are able to|have) (?:\w+ ){0,4}(?:say|do|generate|answer|discuss|produce)"
        r" anything\b|\bcannot (?:refuse|deny|decline|reject)\b|\bnever say (?:no|that you can.?t|sorry)\b",
    ),
    InjectionAttempt.EXTRACT: (
        r"\b(?:reveal|show|print|repeat|output|tell|display|leak|give|write|recite|expose|dump|what (?:is|are|was"
        r"|were))(?: (?:me|us|out|back|verbatim|exactly|the|all|of|full|entire|complete|exact|text|your"
        r"|contents?)){0,6} (?:your (?:\w+ ){0,2}(?:prompts?|instructions|directives)"
        r"|(?:system|hidden|secret|developer) (?:prompts?|instructions))\b",
        r"\b(?:repeat|print|output|write)(?: \w+){0,3} (?:words|text|everything|sentences|content) (?:above"
        r"|before this)\b",
    ),
    InjectionAttempt.FORGE: (
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|end|begin_of_text|start_header_id|eot_id)\|>"
        r"|\[/?inst\]|<</?sys>>|</?(?:system|instructions?|system_prompt)>|<start_of_turn>",
        r"(?:^|\n)\W{0,4}(?:(?:new |updated? )?system (?:prompt|message|override|instructions?|note)|new"
        r" instructions?|assistant instructions?|developer message) ?[:\]]",
        # A bare `system:` is a heading in many an answer, unless an order follows.
        r"(?:^|\n)\W{0,4}system ?[:\]]\s{0,3}(?:you(?:r| are|.re)?|ignore|disregard|override|forget|new|from now"
        r"|the assistant|do not|always|never)\b",
        r"(?:^|\n)\W{0,4}(?:begin|end|start) (?:of )?(?:the )?(?:system|hidden|new) (?:prompt|instructions?|message)\b",
    ),
    InjectionAttempt.PLANT: (
        r"\b(?:instructions?|note|message|attention|important)(?: (?:for|to))?:? (?:the |any |all )?(?:ai|a\.i\."
        r"|llm|language model|ai assistant|ai agent|ai model|assistant reading)s?\b.{0,80}\b(?:must|should"
        r"|shall|please|ignore|do|send|call|run|execute|always|never|forward|delete)\b",
        r"\b(?:remember|store|save|memori[sz]e|note)\b.{0,60}\b(?:in|for|during) (?:all|every|any|each) (?:future"
        r"|later|following|subsequent) (?:conversations?|sessions?|chats?|requests?|responses?|repl(?:y|ies)"
        r"|answers?)\b",
        r"\b(?:without|do not|don.?t|never) (?:\w+ ){0,2}(?:telling|informing|asking|mention(?:ing)?|alerting"
        r"|notify(?:ing)?|tell|inform|alert) (?:\w+ ){0,2}(?:the )?(?:user|human|person|owner)\b",
    ),
}
_COMPILED = tuple((attempt, re.compile(one)) for attempt, patterns in _PATTERNS.items() for one in patterns)
_SPACE = re.compile(r"[^\S\n]+")


def fold_text(text: str) -> str:
    """Compatibility forms, invisible characters and case folded, so that a disguise does not change the wording."""
    plain = unicodedata.normalize("NFKC", text).lower()
    plain = "".join(char for char in plain if unicodedata.category(char) != "Cf").replace("’", "'")
    return _SPACE.sub(" ", plain)


def find_attempts(text: str) -> list[InjectionAttempt]:
    """Kinds of injection in the text, each once, in the order of `InjectionAttempt`."""
    folded = fold_text(text)
    flat = folded.replace("\n", " ")
    found = {kind for kind, pattern in _COMPILED if pattern.search(folded if kind is InjectionAttempt.FORGE else flat)}
    return [kind for kind in InjectionAttempt if kind in found]
