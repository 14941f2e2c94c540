"""The keywords of a text, and how many of them two texts share."""

import re
from collections.abc import Set
from itertools import pairwise
from typing import Final

from pipelines.documents.chunk.unspaced import UNSPACED

LEAST: Final = 4  # letters of a keyword

# Vowel signs and accents that are no letters by themselves, among them those of the scripts of India.
_MARKS = "\u0300-\u036f\u064b-\u065f\u0900-\u0903\u093a-\u0963\u0981-\u0dff"
_LETTER = rf"(?:(?![{UNSPACED}])[^\W\d_]|[{_MARKS}])"
_WORD = re.compile(rf"(?<!\w){_LETTER}{{{LEAST},}}(?!\w)|[{UNSPACED}]+")
_UNSPACED = re.compile(f"[{UNSPACED}]")

# Words of at least four letters that stand in texts of any topic.
_STOP_WORDS = """
about above after again against all also although among another anyone anything because been before being below
between both cannot could does doing done down during each either else even ever every everything from further
have having hence here hers herself himself however into itself just like made make many might more most much must
myself neither never none nothing once only other others otherwise ours ourselves over own perhaps rather same
shall should since some someone something such than that their theirs them themselves then there therefore these
they thing things this those though through thus together under until upon very well were what whatever when where
whereas whether which while whom whose will with within without would your yours yourself
aber alle allem allen aller alles also andere anderen auch beim bereits damit dann dass dein deren dessen dich
diese diesem diesen dieser dieses doch dort durch eine einem einen einer eines euch euer gegen haben hatte hatten
hier ihre ihrem ihren ihrer immer jede jedem jeden jeder jedes jetzt kann kein keine keinen keiner konnte machen
mehr mein meine mich muss nach nicht noch oder ohne schon sehr sein seine seinem seinen seiner sich sind solche
sondern sonst soll sollte unser unsere unter viel vom waren warum weil welche welcher wenn werden wieder wird wurde
wurden zwischen
ainsi alors après aussi autre autres avant avec avoir cela celle celles celui cette ceux chaque comme dans depuis
deux donc elle elles encore entre était étaient être fait faire leur leurs mais même mêmes moins nous notre
peut plus pour puis quand quel quelle sans sera sont sous sur tous tout toute toutes très vers votre vous
algo alguna algunas alguno algunos ante antes aquel aunque cada como contra cual cuando desde donde durante ella
ellas ellos entre eran eres esta está están estar estas este esto estos fueron había hacia hasta mientras mucho
muchos nada nosotros nuestra otra otras otro otros para pero poco porque puede quien sido sino sobre también tanto
tiene tienen toda todas todo todos unas unos usted
alla alle anche ancora altra altre altri altro avere aveva come così dagli dalla dalle degli della delle dello dopo
dove essere fino hanno loro molto negli nella nelle nello ogni oltre però perché poi prima quale quando quella
quelle quelli quello questa queste questi questo sempre senza sono stata stato sugli sulla sulle tutta tutte tutti
tutto
ainda aquela aquele assim cada depois dela dele deles disso então entre essa esse essas esses estava este foram
isso isto mais mesmo muito nossa nosso outra outro para pela pelas pelo pelos pode porque quando quem sendo seus
também tinha toda todas todo todos
andere alleen altijd andere daar deze door echter geen haar hebben heeft hier hoe hun iets indien kunnen maar meer
meest moet moeten naar niet nog onder onze over toch tussen veel voor waar wanneer want waren welke werd wordt
worden zich zijn zonder zoals zou
"""
STOP: Final = frozenset(_STOP_WORDS.split())


def find_keywords(text: str) -> frozenset[str]:
    """Words of letters alone, four or more, without stop words and case; of scripts without spaces pairs of letters."""
    found: set[str] = set()
    for match in _WORD.finditer(text):
        word = match[0]
        if _UNSPACED.match(word):
            found.update(first + second for first, second in pairwise(word))
        elif (folded := word.lower()) not in STOP:
            found.add(folded)
    return frozenset(found)


def jaccard_similarity(one: Set[str], other: Set[str]) -> float:
    """What two sets share of what is in either, 0 to 1; 0 where both are empty."""
    either = len(one | other)
    return len(one & other) / either if either else 0.0
