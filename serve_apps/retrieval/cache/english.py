"""Tells English questions from others: rules about English words must not judge a text of another language."""

import unicodedata
from collections.abc import Sequence

from pipelines.documents.chunk.language import LIKELY, rank_languages

# Words of nearly every English sentence that are words of no other language of Latin letters.
_ENGLISH_WORDS = """
what which whose whom when where why how does did were being with this that those there their they you your our she
its could would should about before between during through because then into while each every other only many much"""
# Those that are found elsewhere, too, by themselves (`to` is Danish for two, `by` for a town, `of` Dutch for or, `can`
# a Turkish name) or in names (`The Who`, `IT`): they tell nothing, but weigh half against words of other languages.
_SHARED_WORDS = """
a an the in on at over under off up out down some was be been have has will all his her we i who is are and or not
from of these my he it can must after than if to for by"""
# The commonest words of the languages whose words look most like English ones, those left out that are English, too.
_OTHERS_WORDS = """
der das und ist wer wie wo wann warum welche welcher welches ein eine einer eines nicht kein keine von zu mit
auf für im dem den sind wird wurde hat el la los las que de del en por para un una es y qué quién cuándo cuál
dónde cómo le les des du et est qui quel quelle quand où pourquoi dans pas ne au aux il lo gli di che è della
nel quando dove chi perché het een wat welke wanneer waar hoeveel niet van zijn werd o os um uma da dos das em
não quem onde qual foi og ikke hvem hvad hvor til på av och inte vem vad är var som det ett jest kto nie się w
na ve bir mi kim az ez egy ki hol mikor nem și la nu cine je kdo co se"""
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_SHARED = frozenset(_SHARED_WORDS.split())
_OTHERS = frozenset(_OTHERS_WORDS.split())
_MOST_MARKED = 0.1  # share of letters with marks: `naïve` is English, `où` is not


def is_english(words: Sequence[str]) -> bool:
    """True where words in lower case are surely English; a few names of other languages may stand among them.

    Words that are English only tell it unless their letters are likely those of another language; without any, the
    letters must be likely English themselves. In doubt it is another language.
    """
    letters = [char for word in words for char in word if char.isalpha()]
    plain = sum(char.isascii() for char in letters)
    if len(letters) - plain > _MOST_MARKED * len(letters) or any(not _is_latin(char) for char in letters):
        return False
    own = sum(1.0 if word in _ENGLISH else 0.5 for word in words if word in _ENGLISH or word in _SHARED)
    if own <= sum(word in _OTHERS for word in words):
        return False
    code, likely = rank_languages(" ".join(words))[0]
    if any(word in _ENGLISH for word in words):
        return code == "en" or likely < LIKELY
    return code == "en" and likely >= LIKELY


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN")
