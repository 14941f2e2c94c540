"""Numbers that states give to people, by their published formats and check digits, as python-stdnum knows them.

A format whose shape and check digits leave little to chance counts where it stands; any other wants a word before it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from stdnum.ar import cuit
from stdnum.au import tfn
from stdnum.be import nn
from stdnum.bg import egn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.cl import rut
from stdnum.cn import ric
from stdnum.cz import rc
from stdnum.de import idnr as de_idnr
from stdnum.dk import cpr
from stdnum.ee import ik
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.gr import amka
from stdnum.hr import oib
from stdnum.ie import pps
from stdnum.il import idnr as il_idnr
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.ro import cnp
from stdnum.se import personnummer
from stdnum.th import pin
from stdnum.tr import tckimlik
from stdnum.za import idnr as za_idnr

from pipelines.documents.privacy.kinds import DetectionRule, PersonalDataKind, text_before


@dataclass(frozen=True, slots=True)
class _Format:
    """Shape of a number and its check; `words` of which one must stand before it, none for a shape that is enough."""

    shape: str
    is_valid: Callable[[str], bool]
    words: str = ""


_FREE = (
    _Format(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", codicefiscale.is_valid),
    _Format(r"\d{8}-?[A-HJ-NP-TV-Z]", dni.is_valid),
    _Format(r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]", nie.is_valid),
    _Format(r"[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d", nir.is_valid),
    _Format(r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d", nn.is_valid),
    _Format(r"\d{3}\.\d{3}\.\d{3}-\d\d", cpf.is_valid),
    _Format(r"\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]", hetu.is_valid),
    _Format(r"(?:\d\d)?\d{6}[-+]\d{4}", personnummer.is_valid),
    _Format(r"\d{6} ?\d{5}", fodselsnummer.is_valid),
    _Format(r"756\.\d{4}\.\d{4}\.\d\d", ahv.is_valid),
    _Format(r"[1-9]\d{16}[\dX]", ric.is_valid),
    _Format(r"\d{6}-[1-8]\d{6}", rrn.is_valid),
    _Format(r"[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z\d]\d", curp.is_valid),
    _Format(r"\d{1,2}\.\d{3}\.\d{3}-[\dKk]", rut.is_valid),
    _Format(r"(?:20|23|24|27)-\d{8}-\d", cuit.is_valid),
    _Format(r"\d{6}/\d{3,4}", rc.is_valid),
    _Format(r"[A-Z]{3}P[A-Z]\d{4}[A-Z]", pan.is_valid),
    # No check digit; the first letters that are never given out are those of HMRC's manual NIM39110.
    _Format(
        r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]", lambda number: True
    ),
)
_NAMED = (
    _Format(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", de_idnr.is_valid, r"steuer-?id\w*|idnr|identifikationsnummer|tax id"),
    _Format(r"\d{6}-?\d{4}", cpr.is_valid, r"cpr(?:-?(?:nr|nummer))?|personnummer"),
    _Format(r"\d{9}|\d{4}[. ]?\d{2}[. ]?\d{3}", bsn.is_valid, r"bsn|burgerservicenummer|sofi(?:nummer)?"),
    _Format(r"\d{11}", pesel.is_valid, r"pesel"),
    _Format(r"\d{3}[ -]?\d{3}[ -]?\d{4}", nhs.is_valid, r"nhs"),
    _Format(r"\d{3}[ -]?\d{3}[ -]?\d{3}", sin.is_valid, r"sin|social insurance|nas|assurance sociale"),
    _Format(r"\d{3} ?\d{3} ?\d{2,3}", tfn.is_valid, r"tfn|tax file"),
    _Format(r"\d{4} ?\d{4} ?\d{4}", aadhaar.is_valid, r"aadhaar|aadhar|uidai"),
    _Format(r"\d{11}", tckimlik.is_valid, r"tckn|t\.c\.|kimlik"),
    _Format(r"\d{13}", cnp.is_valid, r"cnp|cod numeric personal"),
    _Format(r"\d{10}", egn.is_valid, r"egn|егн"),
    _Format(r"\d{3} ?\d{3} ?\d{3}", nif.is_valid, r"nif|contribuinte"),
    _Format(r"\d{7}[A-W][A-IW]?", pps.is_valid, r"pps(?:n|no)?"),
    _Format(r"\d{6} ?\d{4} ?\d{3}", za_idnr.is_valid, r"sa id|id number|identity number"),
    _Format(r"\d{11}", oib.is_valid, r"oib"),
    _Format(r"\d{11}", ik.is_valid, r"isikukood|asmens kodas"),
    _Format(r"\d{11}", amka.is_valid, r"amka|αμκα"),
    _Format(r"\d{9}", il_idnr.is_valid, r"teudat zehut|ת\.?ז\.?|israeli id"),
    _Format(r"\d-?\d{4}-?\d{5}-?\d{2}-?\d", pin.is_valid, r"thai id|บัตรประชาชน"),
    _Format(r"\d{11}", cpf.is_valid, r"cpf"),
    _Format(r"\d{11}", nn.is_valid, r"rijksregister(?:nummer)?|registre national"),
    _Format(r"\d{8,9}[\dKk]", rut.is_valid, r"rut"),
    _Format(r"\d{9,10}", rc.is_valid, r"rodn[ée] č[íi]slo"),
)
_SEPARATED = r"[^\n]{0,30}\Z"


def _whole(shapes: tuple[_Format, ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{one.shape})" for one in shapes)
    # The look ahead turns ordinary words down before each shape is tried on them.
    return re.compile(rf"(?<![\w.+/-])(?=[A-Z]{{0,6}}[ -]?\d)(?P<it>{alternatives})(?![\w/-]|\.\d)")


_SHAPES = {one: re.compile(one.shape) for one in (*_FREE, *_NAMED)}
_WORDS = {one: re.compile(rf"\b(?:{one.words}){_SEPARATED}", re.IGNORECASE) for one in _NAMED}


def _is_free(number: str) -> bool:
    return any(_SHAPES[one].fullmatch(number) and one.is_valid(number) for one in _FREE)


def _is_named(match: re.Match[str]) -> bool:
    number, before = match["it"], text_before(match, 60)
    if not before or not any(char.isalpha() for char in before):
        return False
    return any(_SHAPES[one].fullmatch(number) and _WORDS[one].search(before) and one.is_valid(number) for one in _NAMED)


# A piece of each of the words above, in lower case.
_WORD_PIECES = (
    *("steuer", "idnr", "identifikationsnummer", "tax", "cpr", "personnummer", "bsn", "burgerservicenummer", "sofi"),
    *("pesel", "nhs", "sin", "social", "nas", "tfn", "aadha", "uidai", "tckn", "t.c.", "kimlik", "cnp", "personal"),
    *("egn", "егн", "nif", "contribuinte", "pps", "sa id", "number", "oib", "isikukood", "asmens", "amka", "αμκα"),
    *("teudat", "ת", "israeli", "thai", "บัตร", "cpf", "rijksregister", "registre", "rut", "rodn"),
)

NATIONAL_ID_RULES = (
    DetectionRule(PersonalDataKind.NATIONAL_ID, _whole(_FREE), proves=_is_free, digits=4),
    DetectionRule(PersonalDataKind.NATIONAL_ID, _whole(_NAMED), _is_named, hints=_WORD_PIECES, digits=7),
)
