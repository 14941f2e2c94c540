"""Contraries: words of which a text cannot say one where a question says the other, told of the same thing."""

import re
from collections.abc import Set

_PAIRS = """
higher/lower high/low highest/lowest more/less most/least more/fewer largest/smallest larger/smaller bigger/smaller
greater/less greatest/least oldest/youngest heaviest/lightest longest/shortest fastest/slowest strongest/weakest
newest/oldest first/last earlier/later above/below best/worst better/worse success/failure succeed/fail approve/reject
adopt/reject accept/refuse begin/end start/finish leave/enter arrive/depart ascend/descend raise/lower rise/drop
increase/reduce expand/contract major/minor majority/minority maximum/minimum common/rare frequent/rare simple/complex
single/multiple alive/dead live/die birth/death born/died ancient/modern wet/dry hot/cool warm/cool thin/thick
narrow/wide deep/shallow loud/quiet safe/dangerous active/passive dominant/recessive natural/artificial rural/urban
domestic/foreign national/international ally/enemy victory/defeat war/peace attach/detach similar/different
same/different independent/dependent interior/exterior inner/outer top/bottom upper/lower north/east north/west
south/east south/west northern/western southern/western southern/eastern northern/eastern horizontal/vertical
ordinary/special temporary/permanent optional/mandatory voluntary/compulsory innocent/guilty profit/loss
surplus/deficit supply/demand construct/destroy build/destroy build/demolish create/destroy remember/forget cause/cure
encourage/discourage encourage/prevent permit/forbid permit/prohibit allow/ban legalize/ban primary/secondary
separate/join unite/divide merge/split wealthy/poor rough/smooth tall/short clean/dirty reactive/inert
soluble/insoluble convex/concave allow/prevent allow/forbid enable/disable increase/decrease accept/reject
include/exclude start/stop start/end encode/decode add/remove open/close public/private internal/external pass/fail
hire/fire love/hate hot/cold push/pull cause/prevent good/bad rich/poor old/new old/young cheap/expensive easy/hard
strong/weak fast/slow early/late true/false right/wrong left/right legal/illegal present/absent create/delete
gain/lose help/harm attack/defend north/south east/west northern/southern eastern/western activate/inhibit
promote/prevent positive/negative big/small long/short full/empty rise/fall

"""
# Not among them are two that tell of one event from both of its sides, such as buy and sell, parent and child: who
# bought a thing is told where it says who sold it.
CONTRARIES = frozenset(_PAIRS.split())
LEAST_DENIED = 4  # letters: `unit` is no contrary of `it`
_DENYING = ("un", "non", "non-")
_DENYING_ADJECTIVES = ("in", "im", "ir", "il", "dis")
_ADJECTIVE = re.compile(r"(?:able|ible|ed|ent|ant|ive|al|ar|ate|ect|ure|ite|act|ous|ic|y)$")


def are_contrary(one: Set[str], other: Set[str]) -> bool:
    """True where words with these base forms cannot both be told of one event."""
    return any(
        f"{left}/{right}" in CONTRARIES
        or f"{right}/{left}" in CONTRARIES
        or _is_denied_by(left, right)
        or _is_denied_by(right, left)
        for left in one
        for right in other
    )


def _is_denied_by(word: str, longer: str) -> bool:
    """`finished` by `unfinished`; by `in-` and `dis-` only an adjective, as `import` has nothing to do with `port`."""
    if len(word) < LEAST_DENIED or len(longer) <= len(word) or not longer.endswith(word):
        return False
    prefix = longer.removesuffix(word)
    return prefix in _DENYING or (prefix in _DENYING_ADJECTIVES and _ADJECTIVE.search(word) is not None)
