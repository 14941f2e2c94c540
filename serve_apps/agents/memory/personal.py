"""Personal data and secrets in text, found by rules that we wrote: checksums where there are any, context elsewhere.

A rule that would take ordinary numbers or words for personal data wants a word beside it that says what they are. Names
are masked only after words that announce one; addresses of machines inside a network name nobody and stay.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address, ip_network
from itertools import pairwise


class PersonalDataKind(StrEnum):
    """Kind of personal data; its value is also the mask."""

    EMAIL = "email"
    PHONE = "phone"
    IBAN = "iban"
    CARD = "card"
    SSN = "ssn"
    IP = "ip"
    PASSPORT = "passport"
    LICENSE = "license"
    NAME = "name"
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class PersonalDataMatch:
    """Characters `start` to `end` of a text are of this kind."""

    kind: PersonalDataKind
    start: int
    end: int


Check = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern`'s group `it` (or all of it) is of the kind where `holds` agrees."""

    kind: PersonalDataKind
    pattern: re.Pattern[str]
    holds: Check = lambda match: True


_LOCAL = tuple(
    ip_network(n)
    for n in (
        *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        *("255.0.0.0/8", "::/127", "fe80::/10", "fc00::/7"),
    )
)
_CALLING = re.compile(
    r"\b(?:phones?|call(?:ed|ing|s)?|tel(?:ephone)?|mobile|cell(?:phone)?|fax|dial|whatsapp|sms|texts?|messages?|contact"
    r"|reach|ring|answer(?:ed|ing|s)?|my number|hotline|pager|office|desk)\b(?:[^\n]|(?<=:)\s{0,3}\n){0,60}\Z",
    re.IGNORECASE,
)
_CALLED = re.compile(r"[ \t,-]{0,2}\(?(?:office|fax|mobile|cell|home|work|desk)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:invoice|order|version|id|part|serial|account|case|ticket|isbn|page|card)\b[^\n]{0,20}\Z", re.IGNORECASE
)
_DATE = re.compile(
    r"(?:(?:19|20)\d\d([-./ ])[01]?\d\1[0-3]?\d|[0-3]?\d([-./ ])[0-3]?\d\2(?:19|20)\d\d)(?:\s\d{1,2})?\Z"
)
_SHAPED = re.compile(r"\d{3}[-. ]\d{3}[-. ]\d{4}(?:x\d{1,5})?|00[1-9]\d{0,2}[-. ]\(?\d[\d(). -]*")
_NEAR = 80  # characters before a number in which a word may say what it is


def _is_iban(match: re.Match[str]) -> bool:
    """ISO 13616: the country and check digits moved to the end leave 1 modulo 97."""
    text = re.sub(r"\s", "", match["it"]).upper()
    moved = text[4:] + text[:4]
    return 15 <= len(text) <= 34 and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _is_card(match: re.Match[str]) -> bool:
    """Luhn's sum, and a first digit that issuers use."""
    digits = [int(char) for char in match["it"] if char.isdecimal()]
    if not 12 <= len(digits) <= 19 or len(set(digits)) < 2 or digits[0] not in (1, 2, 3, 4, 5, 6):
        return False
    doubled = [sum(divmod(2 * d, 10)) if n % 2 else d for n, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _is_ssn(match: re.Match[str]) -> bool:
    """Numbers that the Social Security Administration never gave out do not count."""
    area, group, serial = re.split(r"[- ]", match["it"])
    return area not in ("000", "666") and group != "00" and serial != "0000"


def _is_public_ip(match: re.Match[str]) -> bool:
    """An address that is valid and does not belong inside a network; `version 1.2.3.4` is none, nor is `a::b`."""
    if ":" in match["it"] and sum(char.isdecimal() for char in match["it"]) < 2:
        return False
    try:
        address = ip_address(match["it"])
    except ValueError:
        return False
    if re.search(r"\b(?:version|release|ver|v|build)\W{0,3}\Z", _text_before(match, 20), re.IGNORECASE):
        return False
    return not any(address in network for network in _LOCAL if network.version == address.version)


def _is_phone(match: re.Match[str]) -> bool:
    """Seven to fifteen digits (E.164) that are no date; written with a country, or after a word about calling."""
    text = match["it"]
    digits = sum(char.isdecimal() for char in text)
    if not 7 <= digits <= 15 or _DATE.match(text) or _COUNTED.search(_text_before(match, 40)):
        return False
    if text[0] in "+(" or _SHAPED.fullmatch(text) or _CALLED.match(match.string, match.end("it")):
        return True
    return _CALLING.search(_text_before(match, _NEAR)) is not None


def _text_before(match: re.Match[str], characters: int) -> str:
    start = match.start("it")
    return match.string[max(0, start - characters) : start]


def _compile_rule(kind: PersonalDataKind, pattern: str, holds: Check = lambda match: True, flags: int = 0) -> _Rule:
    return _Rule(kind, re.compile(pattern, flags), holds)


_CAPITAL = r"(?!(?:I|The|And|But|Or|My|Your|It|This|That|Is|In|On|At)\b)[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĶŁĻŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽ]"
_NAME = (
    rf"{_CAPITAL}(?:[^\W\d_]|['’-]){{0,30}}(?:[ \t]{{1,2}}(?:{_CAPITAL}(?:[^\W\d_]|['’-]){{0,30}}|{_CAPITAL}\.)){{0,3}}"
)

# In order: what an earlier rule takes is not looked at by a later one.
_RULES: tuple[_Rule, ...] = (
    _compile_rule(
        PersonalDataKind.SECRET,
        r"(?P<it>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]{0,8000}?"
        r"-----END [A-Z ]{0,30}PRIVATE KEY-----)",
    ),
    _compile_rule(
        PersonalDataKind.SECRET,
        r"(?<![\w-])(?P<it>(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,200}|gh[pousr]_[A-Za-z0-9]{20,100}|github_pat_\w{20,100}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,100}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{20,60}"
        r"|glpat-[A-Za-z0-9_-]{20,60}"
        r"|eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000})(?![\w-])",
    ),
    _compile_rule(
        PersonalDataKind.SECRET,
        r"\b(?:password|passwort|passphrase|passwd|pwd|api[ _-]?key|secret(?:[ _-]key)?|access[ _-]token|bearer)"
        r"(?:\s{0,3}[:=]\s{0,3}|\s{1,3}is:?\s{1,3}|\s{1,3}(?=\S{0,60}\d))[\"'`]?(?P<it>(?!\[)[^\s\"'`,;]{6,200})",
        lambda match: bool(re.search(r"[\d\W_]", match["it"].rstrip(".!?"))),
        re.IGNORECASE,
    ),
    _compile_rule(
        PersonalDataKind.EMAIL, r"(?<![\w.+%-])(?P<it>[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w-])"
    ),
    _compile_rule(
        PersonalDataKind.IBAN,
        r"(?<![A-Za-z0-9])(?P<it>[A-Za-z]{2}\d{2}(?:[ ]?[A-Za-z0-9]{4}){2,7}(?:[ ]?[A-Za-z0-9]{1,4})?)(?![A-Za-z0-9])",
        _is_iban,
    ),
    _compile_rule(PersonalDataKind.CARD, r"(?<![\w.+-])(?P<it>\d(?:[ -]?\d){11,18})(?![\w-]|\.\d)", _is_card),
    _compile_rule(PersonalDataKind.SSN, r"(?<![\w-])(?P<it>\d{3}([- ])\d{2}\2\d{4})(?![\w-])", _is_ssn),
    _compile_rule(PersonalDataKind.IP, r"(?<![\w.])(?P<it>\d{1,3}(?:\.\d{1,3}){3})(?![\w]|\.\d)", _is_public_ip),
    _compile_rule(
        PersonalDataKind.IP, r"(?<![\w:.])(?P<it>(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})(?![\w:])", _is_public_ip
    ),
    _compile_rule(
        PersonalDataKind.PASSPORT,
        r"\bpassport(?:\s{1,3}(?:number|no\.?|nr\.?|#|id)){0,2}(?:\s{0,3}[:#=]\s{0,3}|\s{1,3}is:?\s{1,3}|\s{1,3})"
        r"(?P<it>(?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{6,12})\b",
        flags=re.IGNORECASE,
    ),
    _compile_rule(
        PersonalDataKind.LICENSE,
        r"\bdriv(?:er|ing)(?:['’]?s)?\s{1,3}licen[cs]e(?:\s{1,3}(?:number|no\.?|nr\.?|#|id)){0,2}"
        r"(?:\s{0,3}[:#=]\s{0,3}|\s{1,3}(?:is:?\s{1,3})?)"
        r"(?P<it>(?=[A-Za-z]{0,3}-?\d)[A-Za-z0-9](?:-?[A-Za-z0-9]){4,18})\b",
        flags=re.IGNORECASE,
    ),
    _compile_rule(
        PersonalDataKind.PHONE,
        r"(?<![\w.+@/:-])(?P<it>(?:\+|00)?\(?\d(?:[ ().-]{0,3}\d){6,14}(?:x\d{1,5})?)(?![\w@/]|[-.]\d)",
        _is_phone,
    ),
    _compile_rule(
        PersonalDataKind.NAME,
        rf"\b(?i:my (?:full |first |last |legal )?name is|my name['’]s|i am called|people call me|please call me"
        rf"|(?:his|her|their) name is|the name on (?:the|my) (?:card|account) is|yours sincerely,"
        rf"|(?:kind|best) regards,)\s{{1,3}}(?P<it>{_NAME})",
    ),
    _compile_rule(
        PersonalDataKind.NAME,
        rf"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau|Madam)\b\.?[ \t]{{1,2}}(?:(?:Dr|Prof)\.[ \t]{{1,2}})?"
        rf"(?P<it>{_NAME})",
    ),
)


def find_personal_data(text: str) -> list[PersonalDataMatch]:
    """Everything found, in order and without overlaps."""
    found: list[PersonalDataMatch] = []
    taken = bytearray(len(text))  # 1 where a find stands: looking there costs the same however many were found
    for rule in _RULES:
        for match in rule.pattern.finditer(text):
            start, end = match.span("it")
            if taken.find(1, start, end) < 0 and rule.holds(match):
                found.append(PersonalDataMatch(rule.kind, start, end))
                taken[start:end] = b"\1" * (end - start)
    return sorted(found, key=lambda one: one.start)


def mask_personal_data(text: str) -> tuple[str, list[PersonalDataMatch]]:
    """The text with `[email]` and so on in place of what was found, and what that was.

    A mask can bring two neighbours together that make a new find, so it goes on until nothing is found; each round
    takes characters of a find away, so it ends.
    """
    every: list[PersonalDataMatch] = []
    while found := find_personal_data(text):
        every.extend(found)
        text = "".join(_masked_pieces(text, found))
    return text, every


def _masked_pieces(text: str, found: list[PersonalDataMatch]) -> Iterator[str]:
    yield text[: found[0].start]
    for one, following in pairwise([*found, None]):
        assert one is not None
        yield f"[{one.kind}]"
        yield text[one.end : following.start if following else len(text)]
