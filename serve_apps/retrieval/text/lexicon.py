"""English words by what they do in a question, which are inflections of each other, and which mean the same."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from cluster.basics.errors import InvalidSettings

SYNONYMS = Path(__file__).with_name("synonyms.txt")


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


NEGATIONS = _word_set(
    "not no never none nobody nothing neither nor nowhere without except excluding lack lacks lacking "
    "unless hardly barely"
)
COMPARISONS = _word_set(
    "more less most least fewer fewest better worse best worst before after earlier later first last "
    "second third above below over under maximum minimum highest lowest high low higher lower larger "
    "smaller largest smallest longer shorter longest shortest older younger oldest youngest newest "
    "increase decrease rise fall greater greatest top bottom next previous than"
)
QUANTIFIERS = _word_set("all every each any some only both always either up down inside outside many several few")
# Words that say little beside others: where much is worded differently they come and go.
GENERIC = _word_set(
    "use utilize utilise employ provide offer serve act perform help able ability possible feasible want wish "
    "need must should get obtain achieve do make include contain consist comprise involve follow give state "
    "specific particular certain some various different such available additional new also way manner method "
    "process thing part kind type sort following like when while where which what how because if from into by or "
    "but as other another all any each every both either only just up refer find located locate present currently "
    "usually main necessary essential important information detail purpose function existing corresponding "
    "respective well several own "
)
RELATIONS = _word_set(
    "from into onto out off between among against during since until till near around across along behind "
    "beyond despite toward towards versus vs if or but because per like he she him her his hers by same "
    "other another different will shall must should while whereas though although"
)
ASKING = {word: word for word in _word_set("when where why how")} | dict.fromkeys(("what", "which"), "what")
ASKING |= dict.fromkeys(("who", "whom", "whose"), "who")
DATES = _word_set(
    "january february march april june july august september october november december jan feb mar apr jun "
    "jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday today yesterday "
    "tomorrow q1 q2 q3 q4 h1 h2"
)

BE = _word_set("is are am was were be been being")
DO = _word_set("do does did")
PAST = _word_set("was were did had")
PRESENT = _word_set("is are am do does has have")
FIRST_PERSON = _word_set("i me my mine we us our")
SECOND_PERSON = _word_set("you your yours")
MARKERS = _word_set(
    "by using via through with when if in on at for to as after before during since while because once upon from of "
    "about regarding concerning"
)
_FILLERS = _word_set(
    "a an the please kindly just simply really actually basically also too so then there here having can could may "
    "might would to of in on at for with about as via using through within upon regarding concerning and one it "
    "its they them their this that these those yes thus hence therefore however respectively now whether okay ok "
    "hi hello hey well thanks thank additionally furthermore moreover else ever oh e.g i.e etc"
)
LIGHT = BE | PAST | PRESENT | FIRST_PERSON | SECOND_PERSON | _FILLERS

_TENS = ("ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_UP_TO_NINETEEN = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
# `one` is a pronoun more often than a number.
NUMERALS = {word: str(number) for number, word in enumerate(_UP_TO_NINETEEN) if word != "one"}
NUMERALS |= {word: str(10 * number) for number, word in enumerate(_TENS, 1)}
NUMERALS |= {"hundred": "100", "thousand": "1000", "million": "1000000", "billion": "1000000000", "dozen": "12"}
ORDINALS = {"1st": "first", "2nd": "second", "3rd": "third"}

_IRREGULAR: Mapping[str, str] = {
    form: base
    for base, forms in {
        "child": "children", "man": "men", "woman": "women", "person": "persons", "foot": "feet", "tooth": "teeth",
        "mouse": "mice", "criterion": "criteria", "index": "indices", "analysis": "analyses", "give": "gave given",
        "take": "took taken", "make": "made", "write": "wrote written", "get": "got gotten", "find": "found",
        "build": "built", "buy": "bought", "sell": "sold", "pay": "paid", "send": "sent", "hold": "held", "win": "won",
        "lose": "lost", "lead": "led", "begin": "began begun", "go": "went gone", "come": "came", "know": "knew known",
        "see": "saw seen", "say": "said", "tell": "told", "keep": "kept", "leave": "left", "meet": "met", "run": "ran",
        "speak": "spoke spoken", "teach": "taught", "choose": "chose chosen", "break": "broke broken",
        "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen", "fly": "flew flown", "grow": "grew grown",
        "show": "shown", "spend": "spent", "understand": "understood", "mean": "meant", "think": "thought",
        "bring": "brought", "become": "became", "rise": "rose risen", "draw": "drew drawn", "do": "done",
    }.items()
    for form in forms.split()
}  # fmt: skip
_SAME_PARTICIPLE = _word_set("set put read cut shut split hit let run become come")
_NO_PLURAL = _word_set("news gas lens texas kansas arkansas mars atlas canvas christmas alas always perhaps")
_NO_ADVERB = _word_set("hardly lately nearly shortly highly barely mostly early")
KEPT = 20_000  # words
_VOWELS = frozenset("aeiouy")


def is_participle(word: str) -> bool:
    """True where it may follow a form of `be` in the passive."""
    regular = len(word) > 3 and word.endswith("ed") and not word.endswith("eed")
    return regular or word in _IRREGULAR or word in _SAME_PARTICIPLE


def base_forms(word: str) -> frozenset[str]:
    """Base forms a word may inflect, itself included: of plurals, past forms, gerunds, British spellings."""
    found = {word, word.replace("-", "")}
    if word in _IRREGULAR:
        found.add(_IRREGULAR[word])
    if len(word) > 3:
        found |= _singular_forms(word) | _infinitive_forms(word)
    if len(word) > 5 and word.endswith("ly") and word not in _NO_ADVERB:
        found |= {word[:-2], word[:-3] + "y"} if word.endswith("ily") else {word[:-2]}
    for one in [one for one in found if len(one) > 5]:
        if one.endswith(("ise", "isation", "yse")):
            found.add(one.replace("isation", "ization").replace("ise", "ize").replace("yse", "yze"))
        elif one.endswith("our"):
            found.add(one[:-3] + "or")
    return frozenset(found)


def _singular_forms(word: str) -> set[str]:
    if word in _NO_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return set()
    if word.endswith("ies"):
        return {word[:-3] + "y", word[:-1]}
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return {word[:-2], word[:-1]}
    return {word[:-1]}


def _infinitive_forms(word: str) -> set[str]:
    if word.endswith("ied"):
        return {word[:-3] + "y"}
    if word.endswith("ed") and not word.endswith("eed"):
        stem = word[:-2]
    elif word.endswith("ing"):
        stem = word[:-3]
    else:
        return set()
    if len(stem) < 2 or _VOWELS.isdisjoint(stem):
        return set()
    found = {stem, stem + "e"}
    if len(stem) > 2 and stem[-1] == stem[-2]:
        found.add(stem[:-1])
    return found


class SynonymLexicon:
    """Groups of words that may stand for each other."""

    def __init__(self, groups: Mapping[str, frozenset[int]]) -> None:
        """`groups`: base form to the numbers of its groups."""
        self._groups = groups
        self._known: dict[str, tuple[frozenset[str], frozenset[int]]] = {}

    @classmethod
    def read(cls, path: Path = SYNONYMS) -> "SynonymLexicon":
        """A group a line; `# ` begins a comment. Raises InvalidSettings where a line has one word."""
        groups: dict[str, set[int]] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = () if line.startswith("# ") else line.split()
            if len(words) == 1:
                raise InvalidSettings(f"{path.name}, line {number}: a group has two words or more")
            for word in words:
                groups.setdefault(word, set()).add(number)
        return cls({word: frozenset(numbers) for word, numbers in groups.items()})

    def known(self, word: str) -> tuple[frozenset[str], frozenset[int]]:
        """The base forms of a word and their groups; the words of many questions are few, so they are kept."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            forms = base_forms(word)
            found = self._known[word] = (forms, self.of(forms))
        return found

    def of(self, forms: Iterable[str]) -> frozenset[int]:
        """The groups of any of these."""
        return frozenset().union(*(self._groups.get(form, frozenset()) for form in forms))
