"""Classifies a message as one of ten kinds of task by its trigger words; no model is asked.

The trigger words are the documents'; weights, their variants in other languages, the rules for what does not
count and the order of ties are our own, as no source has them.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Task(StrEnum):
    """The ten kinds, in the order in which ties are broken.

    First those whose triggers name what comes out (a translation, a summary), last those whose triggers also accompany
    every other task ("think", "why"); `chat` is what nothing else is.
    """

    TRANSLATE = "translate"
    SUMMARIZE = "summarize"
    CLASSIFY = "classify"
    EXTRACT = "extract"
    CODE_GEN = "code_gen"
    TOOL_CALL = "tool_call"
    RAG_ANSWER = "rag_answer"
    PLANNING = "planning"
    REASONING = "reasoning"
    CHAT = "chat"


# A cheaper model does these well: what is asked for stands in the message, and its form is known beforehand.
SIMPLE = frozenset({Task.TRANSLATE, Task.SUMMARIZE, Task.CLASSIFY, Task.EXTRACT})

OPENING = 2.0  # more for the trigger that a message begins with: it is what is asked for, the rest is about what
MORE = 0.25  # of what each further trigger of the same task weighs: many hints are not as good as one that says it
ENOUGH = 1.25  # less is chat: a hint alone, in the middle of a sentence, says nothing
READ_CHARACTERS = 2000  # what is asked stands at the beginning; the rest is mostly a pasted text

_LANGUAGES = (
    "english|french|german|spanish|italian|portuguese|dutch|polish|arabic|turkish|russian|hindi|urdu|chinese|japanese|"
    "korean|hebrew|farsi|persian|greek|swedish|czech"
)

# task -> [(weight, triggers)]. A trigger is a pattern of whole words; accents and case do not matter. 3 says the task
# outright, 2 says it in most sentences, 1 hints.
_TABLE: Mapping[Task, tuple[tuple[float, str], ...]] = {
    Task.TRANSLATE: (
        (3, r"translat(e|es|ed|ing)|translation (of|into|to)|how (do|would) (you|i|we) say|render (this|it|that) in"),
        (3, r"tradui(s|t|re|sez)|traduce|traduci(r|d)?|traduz(ir|a)|ubersetz(e|en|t)|ubersetzung|ترجم|ترجمة"),
        (2, rf"(in|into) ({_LANGUAGES})|to ({_LANGUAGES})"),
        (2, r"en (francais|anglais|allemand|espagnol|arabe|espanol|ingles|frances|aleman)|in italiano"),
        (2, r"auf (deutsch|englisch|franzosisch|spanisch|arabisch)|ins (deutsche|englische|franzosische|spanische)"),
        (2, r"(بال|الى ال)(عربية|انجليزية|انكليزية|فرنسية|المانية)"),
    ),
    Task.SUMMARIZE: (
        (3, r"summari[sz](e|es|ed|ing)|sum(ming)? up|tl;?dr|in a nutshell|condense|recap|boil (it|this|that) down"),
        (3, r"resum(e|er|ez|ir|a|en)|fass(e|t|en)? .{0,40}\bzusammen|zusammenfass(en|ung)|riassumi|لخص|تلخيص|ملخص"),
        (2, r"summar(y|ies)|brief(ly)?|(key|main) (points|takeaways|ideas)|abstract of|digest of|shorten|the gist"),
    ),
    Task.CLASSIFY: (
        (3, r"classif(y|ies|ied|ying)|categori[sz](e|es|ed|ing)|klassifizier(e|en|t)|kategorisier(e|en|t)"),
        (3, r"clasific(a|ar|ad|ue)|classe[rz]|categoris(e|er|ez)|صنف|تصنيف"),
        (2, r"label(l?ing|l?ed)?|tag (this|these|each|the|them)|(which|what) (category|class|label)|sentiment"),
        (2, r"(is|are) (this|it|these|they) (\w+ )?(spam|positive|negative|urgent)|sort .{0,30}\binto (groups|"
            r"categories)"),
    ),
    Task.EXTRACT: (
        (3, r"extract(s|ed|ing)?|pull (out|all|the|every)|pars(e|es|ed|ing)|scrape|extrahier(e|en)|extra(er|e|is|"
            r"yez)"),
        (3, r"extraire|extraiga|estrai|استخرج|استخراج"),
        (2, r"(list|get|give me|collect) (all|every|the|all the|all of the) (names?|dates?|amounts?|e-?mails?|"
            r"addresses|numbers?|fields?|"
            r"entities)"),
        (1, r"(as|into|in) (json|csv)|key-value pairs"),
    ),
    Task.CODE_GEN: (
        (3, r"(write|generate|create|give me|show me|need|implement) .{0,30}\b(code|function|script|class|program|"
            r"regex|"
            r"sql)"),
        (3, r"implement (a|an|the) .{0,40}\b(endpoint|api|algorithm|parser|module|method|interface|test)"),
        (3, r"debug(s|ging)?|refactor(s|ing)?|unit tests? for|stack ?trace|traceback|fix (this|the|my) (code|bug|"
            r"function)"),
        (3, r"(ecri(s|vez|re)|escrib(e|ir)|schreib(e|en)?|scrivi|اكتب) .{0,30}\b(code|codigo|fonction|funcion|"
            r"funktion|skript"
            r"|script|programme|programm|programa|codice|كود|برنامج|دالة)"),
        (1, r"code|coding|function|script|python|javascript|typescript|java|rust|golang|c\+\+|sql|regex|compiler?|"
            r"api call"),
    ),
    Task.TOOL_CALL: (
        (3, r"ssh (into|to|onto)|run (the|this|that|a|my|it|all)|re-?run|execut(e|es|ed|ing)|invoke|restart|reboot"),
        (3, r"(start|stop|deploy|install|ping|call) (the|this|a|my|all)|fuhre .{0,40}\baus|ausfuhren|execute[rz]"),
        (3, r"ejecut(a|ar|e)|lance[rz]?|esegui|نفذ|تنفيذ|شغل"),
        (2, r"run|send (an?|the) (e-?mail|message|request)|use the .{0,20}\btool"),
        (1, r"command|server|container|pipeline|playbook"),
    ),
    Task.RAG_ANSWER: (
        (3, r"(search|find|look( it)? up|look) .{0,40}\b(documents?|docs?|files?|knowledge base|manuals?|polic(y|"
            r"ies)|pdfs?)"),
        (3, r"what (do|does) (the|this|our|that|my) .{0,30}\b(say|state|mention)s?|according to (the|our|this|my)"),
        (3, r"(suche|finde|cherche[rz]?|trouve[rz]?|busca(r)?|encuentra|cerca|ابحث) .{0,40}\b(dokument(e|en)?|"
            r"unterlagen|"
            r"documents?|documentos?|documenti|fichiers?|archivos?|(ال)?(مستندات|وثائق|ملفات))"),
        (3, r"was (sagt|steht) .{0,40}\b(dokument|unterlagen|handbuch|vertrag)|que d(it|ice) (le|la|el|ce) "
            r"(document(o)?|contrat(o)?|manu[ae]l)|ماذا (يقول|تقول) (المستند|الوثيقة|المستندات)"),
        (2, r"(which|what) (page|section|chapter|clause|paragraph)|where (does|do) (the|our|this) .{0,30}\b(say|"
            r"mention)"),
        (2, r"search for|(in|from) (the|our|my) (documents?|docs|knowledge base|handbook|manual|contract|uploads?)"),
        (1, r"documents?|search|source|cite|citations?"),
    ),
    Task.PLANNING: (
        (3, r"(make|create|draft|write|give me|propose|need) (a|an|the|me a) .{0,30}\b(plan|roadmap|schedule|"
            r"itinerary)"),
        (3, r"steps (to|for)|step[- ]by[- ]step|plan(ning)? (to|for|how|out|our|my|the|a|an)|plane (die|den|das|"
            r"eine[nr]?|mir)|planifi(e|er|ez|ca|car)"),
        (3, r"erstell(e|en)? .{0,30}\bplan|schritte? (um|fur|zu)|etapes pour|pasos para|خطط|خطوات|خطة"),
        (2, r"(what|which) steps|how (to|do i|can i|should (i|we))|wie (kann|soll) ich|comment faire|como puedo|كيف"),
        (1, r"plan|roadmap|milestones?|schedule|strategy"),
    ),
    Task.REASONING: (
        (3, r"analy[sz](e|es|ed|ing)|analysier(e|en)|analy(se|sez)|analiza(r)?|analizza|حلل|think (about|through|"
            r"hard|step)"),
        (2, r"why|explain(s|ed|ing)?|reason(ing)? (about|through|why)|prove|derive|compare|evaluate|pros and cons|"
            r"think"),
        (2, r"warum|wieso|erklar(e|en|t)|pourquoi|expli(que|quer|quez|ca|car)|por que|perche|spiega|لماذا|اشرح|فسر"),
        (1, r"analysis|difference between|trade-?offs?|implications?|cause of"),
    ),
}  # fmt: skip

# Words that look like a trigger and are none; they are taken out first.
_TRAPS = (
    r"(in the )?long run|runs? (out|into|away|late|low)|run-?time|running (late|out|low)|(home|dry|test) run",
    r"(floor|data|phone|pension|insurance|payment|pricing|business|seating) plan|plan [a-d]",
    r"(movie|film|tv|prescription) script|function(s|ed)? (well|badly|properly|as)|dress code|(zip|post(al)?|qr|"
    r"area) code",
    r"record label|class (action|room|reunion|today|tomorrow)|brief (pause|visit|moment|history|case)|in brief",
    r"i think|don'?t you think|think so|that'?s why|no reason|abstract (art|class)|(vanilla|almond) extract",
    r"search (party|engine)|executive|translation (error|unit)s?|python (snake|bite)|java (island|coffee)",
)
_NEGATION = r"(do ?n[o']?t|not|without|never|no need to|instead of|rather than|nicht|ne|no|sin|sans|ohne|لا)( \w+)?"
_POLITE = (
    r"(please|pls|kindly|hi|hello|hey|ok|okay|so|now|then|just|could|can|would|will|you|we|i|i'?d|want|like|need|"
    r"help|me|"
    r"us|to|let'?s|bitte|kannst|konnen|du|sie|mir|s'?il|te|vous|plait|peux-?tu|pouvez|por|favor|puedes|من|فضلك)"
)


def _fold_text(text: str) -> str:
    """Without case, accents and curly apostrophes, so that one spelling in the table meets all."""
    plain = unicodedata.normalize("NFKD", text.casefold()).replace("’", "'")
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


def _word_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_fold_text(pattern)})(?!\w)")


_TRIGGERS = [(task, weight, _word_pattern(pattern)) for task, rows in _TABLE.items() for weight, pattern in rows]
_TRAP = _word_pattern("|".join(_TRAPS))
_NEGATED = re.compile(rf"(?<!\w){_fold_text(_NEGATION)} $")
_START = re.compile(rf"^\W*(?:{_fold_text(_POLITE)}\W+)*")
# A quoted or fenced text is what the task is done to, not what is asked.
_QUOTED = re.compile(r"```.*?(?:```|$)|`[^`]*`|\"[^\"]{4,}\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]", re.DOTALL)
_COLON = re.compile(r":\s|\n\s*\n")


@dataclass(frozen=True, slots=True)
class TaskJudgement:
    """The task that a message asks for, with its scores."""

    task: Task  # the kind with the highest score
    scores: Mapping[Task, float]  # of each kind that a trigger was found for
    triggers: tuple[str, ...]  # the words that decided, as `task: word`

    @property
    def reason(self) -> str:
        """One line for a trace."""
        return ", ".join(self.triggers) or "no trigger word"


def classify_task(message: str) -> TaskJudgement:
    """Judge a message; the same message is always judged the same."""
    text = " ".join(_QUOTED.sub(" … ", message[:READ_CHARACTERS]).split("\r"))
    head, *payload = _COLON.split(text, maxsplit=1)
    judged = _score_tasks(head)
    # "Translate to German: please run the plan" asks for one thing; "Hello: please run it" asks after the colon.
    return judged if judged.task is not Task.CHAT or not any(payload) else _score_tasks(text)


def _score_tasks(text: str) -> TaskJudgement:
    plain = _TRAP.sub("…", " ".join(_fold_text(text).split()))
    begin = found.end() if (found := _START.match(plain)) else 0
    scores: dict[Task, float] = {}
    triggers = []
    for task, weight, pattern in _TRIGGERS:
        hit = next((h for h in pattern.finditer(plain) if not _NEGATED.search(plain[: h.start()])), None)
        if hit is None:
            continue
        score = weight + (OPENING if hit.start() == begin else 0)
        scores[task] = max(scores.get(task, 0), score) + MORE * min(scores.get(task, 0), score)
        triggers.append(f"{task}: {hit.group()}")
    # The first of equals, and so the first in the table, which has the order of `Task`.
    best = max(scores, key=lambda task: scores[task], default=Task.CHAT)
    return TaskJudgement(best if scores.get(best, 0) >= ENOUGH else Task.CHAT, scores, tuple(triggers))
