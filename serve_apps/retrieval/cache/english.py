"""Tells English questions from others: rules about English words must not judge a text of another language."""

import unicodedata
from collections.abc import Sequence

# Words of nearly every English sentence that are words of no other language of Latin letters.
_ENGLISH_WORDS = """
the what which who whom whose when where why how does did are were being and or not with from of this that
these those there their they you your my our he she it its can could would should must about after before between
during through because than then into if while each every other only many much is to for by"""
# Those that are found elsewhere, too; two of them count as one of the others.
_SHARED_WORDS = """a an in on at over under off up out down some was be been have has will all his her we i"""
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
    """True where words in lower case are surely English; a few names of other languages may stand among them."""
    letters = [char for word in words for char in word if char.isalpha()]
    plain = sum(char.isascii() for char in letters)
    if len(letters) - plain > _MOST_MARKED * len(letters) or any(not _is_latin(char) for char in letters):
        return False
    own = sum(1.0 if word in _ENGLISH else 0.5 for word in words if word in _ENGLISH or word in _SHARED)
    return own >= 1 and own > sum(word in _OTHERS for word in words)


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN")
