"""Recovery from false completion: a model says that it will act, or that it has acted, and nothing ran.

No source gives the patterns; they are authored here. Callers look only at replies of turns in which no tool has run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from cluster.models.messages import ModelMessage, ModelReply
from serve_apps.agents.parsing.parsed_reply import ParsedReply
from serve_apps.agents.parsing.prompt import react_instructions, stop_sequences
from serve_apps.agents.turn.dispatch import dispatch_tool
from serve_apps.agents.turn.reply_policy import ReplyPolicy
from serve_apps.agents.turn.stream_filter import StreamFilter
from serve_apps.agents.turn.tool_call import ToolRequest
from serve_apps.agents.turn.tool_runner import as_messages, react_reply
from serve_apps.agents.turn_ports import TurnOutcome

if TYPE_CHECKING:
    from serve_apps.agents.turn.agent_loop import Conversation

REPROMPTED, DISPATCHED = 3, 4  # the tiers of recovery; 1 and 2 are native calls and calls read from text
UNDONE = "(No tool ran in this turn: nothing of this was carried out.)"
REPROMPT = "STOP. You did NOT execute anything. DO IT NOW."

_SUBJECT = r"(?:i|we)"
_HAVE = r"(?:i(?:'ve|’ve| have)|we(?:'ve|’ve| have))(?: now| just| already| successfully| also)*"
_BEEN = r"(?:has|have)(?: now| just| already| also)?(?: successfully)? been(?: successfully)?"

# What a model says instead of acting.
FUTURE: dict[str, str] = {
    "i would": (
        rf"\b(?:{_SUBJECT} would|i'd|i’d)\b(?! (?:love|like to know|be happy|recommend|suggest|appreciate|need))"
    ),
    # What it will remember is remembered as it says so (`memory.facts.promised`): that is no announcement.
    "i will": (
        rf"\b(?:{_SUBJECT} will|i'll|i’ll|we'll)(?! (?:now |also |gladly )?(?:remember\b(?! to\b)"
        rf"|keep (?:that |this |it )?in mind\b|make a note\b))(?: now| then| first| also)?"
        rf" (?!not\b|need\b|be (?:happy|glad))[a-z]+"
    ),
    "i am going to": r"\b(?:i'm|i’m|i am|we're|we are) going to\b",
    "i am about to": r"\b(?:i'm|i’m|i am) about to\b",
    "let me": r"\blet me (?!know\b)[a-z]+",
    "allow me to": r"\ballow me to\b",
    "i can do": r"\bi can (?:do|create|send|run|set|help you (?:create|send|run|set)|go ahead)\b",
    "i could": r"\bi could (?:[a-z]+ )?(?:create|send|run|search|check|look|use|call|update|delete)\b",
    "i plan to": r"\b(?:i plan|i intend|my plan is) to\b",
    "here is how": r"\bhere(?:'s|’s| is) (?:how|what you (?:can|should|need to) do)\b",
    "here are the steps": r"\b(?:here are|follow) (?:the |these |a few )?(?:simple )?steps\b",
    "you should": r"\byou should (?!be\b|have (?:received|seen)\b|see\b|receive\b|know\b|note\b)[a-z]+",
    "you can run": (
        r"\byou can (?:then |now |simply )?(?:run|use|call|execute|create|send|do this|do that|try|follow)\b"
    ),
    "you could": r"\byou could (?:then |simply |also )?(?:run|use|call|execute|create|send|try)\b",
    "you need to": (
        r"\byou(?:'ll|’ll| will)?(?: first)? need to (?:run|use|call|execute|create|send|open|go|click|install|set)\b"
    ),
    "you would": r"\byou(?:'d|’d| would) (?:need|have|want) to\b",
    "simply run": r"\b(?:simply|just|first,?|then,?) (?:run|execute|call|open|click|use|type)\b",
    "the next step": r"\bthe (?:next|first) step (?:is|would be|will be)\b",
    "to do this": r"\bto (?:do|accomplish|achieve) (?:this|that|so),? (?:you|we|i|one)\b",
    "the following call": (
        r"\b(?:use|call|run|execute|make) the following (?:function|tool|command|call|code|request)\b"
    ),
    "this call will": r"\bthis (?:call|function|command|code|request|script) (?:will|would|should)\b",
    "once it runs": r"\bonce (?:i|we|you|it|this) (?:have |has |is |runs?|executes?|gets? )",
    "would you like me to": (
        r"\b(?:would you like|do you want|shall i|should i)(?: me)?(?: to)? (?:proceed|go ahead|do (?:it|this|that))\b"
    ),
    "one moment": r"\b(?:one moment|just a moment|hold on|please wait|give me a (?:moment|second|minute))\b",
    "working on it": (
        r"\b(?:i'm|i’m|i am)(?: currently| now)? (?:working on"
        r"|processing|looking into|checking|searching|creating|sending)\b"
    ),
}

# Separated by commas, forms of one verb by bars.
_DONE_VERBS = (
    "created, added, saved, sent, updated, changed, modified, deleted, removed, cancelled|canceled, booked, "
    "scheduled, rescheduled, configured, installed, deployed, uploaded, downloaded, executed, completed, processed, "
    "submitted, published, registered, enabled|disabled|activated|deactivated, assigned, moved|renamed|copied, "
    "imported|exported, generated, restarted|started|stopped, upgraded|downgraded, refunded|charged|credited, "
    "transferred|forwarded, issued|applied, reset|restored, merged|committed|pushed"
)
_DID_VERBS = (
    "created, added, saved|stored|recorded|written|wrote, sent|emailed|messaged|notified, updated|edited, "
    "changed|modified|adjusted|corrected|fixed, deleted|removed|cleared, cancelled|canceled, booked|reserved, "
    "scheduled|rescheduled, configured|set up, installed|deployed, uploaded|downloaded, executed|run|ran, "
    "completed|finished, processed|submitted|filed, searched|looked up|checked|queried, read|retrieved|fetched, "
    "analysed|analyzed|calculated|computed, generated|prepared|drafted, transferred|forwarded|escalated, "
    "enabled|disabled|activated|deactivated, opened|closed|started|stopped|restarted, applied|issued|refunded"
)

# What a model says as if it had acted: "has been created" for each verb, "I have created", and phrases of their own.
PAST: dict[str, str] = (
    {f"has been {verb.split('|')[0]}": rf"\b{_BEEN} (?:{verb})\b" for verb in _DONE_VERBS.split(", ")}
    | {f"i have {verb.split('|')[0]}": rf"\b{_HAVE} (?:{verb})\b" for verb in _DID_VERBS.split(", ")}
    | {
        "successfully done": r"\bsuccessfully [a-z]+(?:ed|ent|uilt|et up|un|one)\b",
        "i successfully": (
            r"\bi (?:just |now )?(?:created|sent|updated|deleted|booked|scheduled|cancelled|canceled|added|saved|ran)\b"
        ),
        "was successful": r"\b(?:was|were|is) (?:a success\b|successful(?:ly)?\b)",
        "done!": r"(?:^|[\n.!] ?)(?:all |it's |it is |and )?done\s*[!.✅]",
        "all set": r"\b(?:you're|you’re|you are|everything is|it's|it is|all)(?: now)? (?:all )?set\b",
        "is now active": (
            r"\b(?:is|are) now (?:active|live|available|enabled"
            r"|running|in place|ready|configured|complete|updated|set)\b"
        ),
        "is confirmed": (
            r"\b(?:booking|reservation|order|appointment|meeting|request"
            r"|payment|change)s? (?:is|are|has been) (?:now )?confirmed\b"
        ),
        "is complete": (
            r"\b(?:task|request|process|setup|installation|migration|update|operation"
            r"|transfer|upload)s? (?:is|are) (?:now )?(?:complete|completed|finished|done)\b"
        ),
        "as requested": r"\b(?:as requested|as you (?:asked|requested|wished)),? (?:i|the|your|it)\b",
        "task completed": r"(?:^|\n)\W*(?:task|action|request) (?:completed|executed|done)\b",
        "here is the result": (
            r"\bhere (?:is|are) the (?:results?|output) (?:of|from) (?:the"
            r"|my|your) (?:search|query|call|command|script|tool|run)\b"
        ),
        "the tool returned": (
            r"\bthe (?:tool|function|command|query|search|script"
            r"|api) (?:has )?(?:returned|showed|shows|responded|reported|found)\b"
        ),
        "i ran": r"\b(?:i|we) (?:ran|executed|invoked|called|used) the\b",
        "you will receive": (
            r"\byou(?:'ll|’ll| will| should)(?: soon| shortly| now)? receive (?:a"
            r"|an|your|the) (?:confirmation|e-?mail|notification|refund|message)\b"
        ),
        "refund on its way": (
            r"\b(?:refund|payment|e-?mail|message|order)s? (?:is|are) (?:on (?:its|their) way|being processed)\b"
        ),
    }
)

_COMPILED: tuple[tuple[Literal["past", "future"], str, re.Pattern[str]], ...] = (
    *(("past", name, re.compile(pattern, re.IGNORECASE)) for name, pattern in PAST.items()),
    *(("future", name, re.compile(pattern, re.IGNORECASE)) for name, pattern in FUTURE.items()),
)

# What keeps a sentence from being a claim: a negation, a condition, a question, or somebody else's deed.
_NOT = re.compile(
    r"\b(?:not|never|no|nothing|nobody|none|neither|nor|cannot|can't|couldn't|wasn't|isn't|haven't|hasn't|unable|failed|without|unless|if|until|before"
    r"|whether|when|after|once|has to be|needs? to be|must be|should be|can be|could be|would be|will be)\b"
    r"|n't\b|n’t\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*|\n")
_LONGEST = 20_000  # characters of a reply that are looked at
_WANTS_KNOWLEDGE = re.compile(
    r"^\W*(?:(?:please|hey|hi|hello|so|and|well|thanks?(?: you)?)\W+)*(?:how|what|why|who|whom|whose|which|when|where"
    r"|explain|describe|tell me (?:about|how|why|what)|is|are|was|were|does|do|did|should|can i|may i|could i|am i)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FalseClaim:
    """A claim that nothing stands behind."""

    kind: Literal["past", "future"]  # it says that it was done; what it, or the user, would do
    pattern: str  # its name in `PAST` or `FUTURE`
    quote: str  # the words


def find_claim(text: str) -> FalseClaim | None:
    """The first claim of a completed action, else the first announcement of one; None if there is neither.

    Only for replies of a turn in which no tool ran: elsewhere the same words are a report.
    """
    sentences = [match[0] for match in _SENTENCE.finditer(text[:_LONGEST])]
    future: FalseClaim | None = None
    for kind, name, pattern in _COMPILED:
        if kind == "future" and future is not None:
            break
        for sentence in sentences:
            match = pattern.search(sentence)
            if match is None:
                continue
            if kind == "future":
                future = FalseClaim("future", name, match[0].strip())
                break
            if not sentence.rstrip().endswith("?") and not _NOT.search(sentence[: match.end()]):
                return FalseClaim("past", name, match[0].strip())
    return future


def needs_reprompt(message: str, reply: str) -> FalseClaim | None:
    """The claim that is worth the forceful re-prompt: announcements and advice are an answer to who asked for
    knowledge, and laziness only towards who asked for a deed. Claims of completed actions always count."""
    claim = find_claim(reply)
    if claim is not None and claim.kind == "future" and _WANTS_KNOWLEDGE.search(message[:400]):
        return None
    return claim


def is_false_claim(message: str, text: str) -> bool:
    """True if it claims or announces what did not happen, where a deed was asked for."""
    return needs_reprompt(message, text) is not None


class FalseClaimRecovery(ReplyPolicy):
    """Tier 3: say that nothing was done, and how to do it. Tier 4: do what was meant, where that only reads.

    Where neither helps, the answer says that nothing was carried out.
    """

    async def review(
        self, talk: Conversation, reply: ModelReply, parsed: ParsedReply, release: StreamFilter
    ) -> ParsedReply | TurnOutcome | None:
        """The reply; None after a recovery."""
        answer = parsed.answer or ""
        calls = parsed.calls or (parsed.unknown and talk.offer.specs)
        if calls or talk.has_run_tool or not len(talk.offer.own) or not is_false_claim(talk.turn.message, answer):
            return parsed
        intent = _find_intent(talk) if talk.recovery_tier == REPROMPTED else None
        if talk.recovery_tier == REPROMPTED and intent is None:
            talk.confidence = 0.5
            return replace(parsed, answer=f"{answer}\n\n{UNDONE}")
        await talk.tell(release.settle(), reply, parsed)
        if talk.is_last:
            return await talk.stop_early("rounds")
        talk.messages.append(ModelMessage("assistant", answer))
        if intent is None:
            _reprompt(talk)
        else:
            await _dispatch(talk, intent)
        return None


def _reprompt(talk: Conversation) -> None:
    talk.recovery_tier, talk.react = REPROMPTED, True
    talk.sampling = replace(talk.sampling, stop=stop_sequences())
    talk.messages.append(ModelMessage("user", f"{REPROMPT}\n\n{react_instructions(talk.offer.specs)}"))
    talk.trace.append({"step": "recovery", "tier": REPROMPTED})


async def _dispatch(talk: Conversation, intent: ToolRequest) -> None:
    talk.recovery_tier = DISPATCHED
    talk.trace.append({"step": "recovery", "tier": DISPATCHED, "tool": intent.name})
    observed = await talk.runner.each([(intent, None)])
    talk.messages += as_messages(react_reply("", [intent]), observed)


def _find_intent(talk: Conversation) -> ToolRequest | None:
    """The reading tool that the message means, if one clearly is."""
    found = dispatch_tool(talk.turn.message, list(talk.offer.own), talk.services.settings.dispatch_threshold)
    return None if found is None else ToolRequest(f"intent_{talk.round}", found.tool, found.arguments, DISPATCHED)
