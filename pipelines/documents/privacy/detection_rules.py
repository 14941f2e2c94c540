"""Rules that find personal data, in order: what an earlier rule takes is not looked at by a later one.

A rule that would take ordinary numbers or words for personal data wants a word beside it that says what they are. Names
are found only after words that announce one.
"""

import re
from collections.abc import Callable

from pipelines.documents.privacy.check_digits import is_card, is_iban, is_of_no_goods, is_ssn
from pipelines.documents.privacy.ip_addresses import is_public_ip
from pipelines.documents.privacy.kinds import DetectionRule, PersonalDataKind
from pipelines.documents.privacy.national_ids import NATIONAL_ID_RULES
from pipelines.documents.privacy.phone_numbers import is_phone


def _rule(
    kind: PersonalDataKind,
    pattern: str,
    holds: Callable[[re.Match[str]], bool] = lambda match: True,
    *,
    proves: Callable[[str], bool] = lambda text: True,
    hints: tuple[str, ...] = (),
    digits: int = 0,
    flags: int = 0,
) -> DetectionRule:
    return DetectionRule(kind, re.compile(pattern, flags), holds, proves, hints, digits)


_CAPITAL = r"(?!(?:I|The|And|But|Or|My|Your|It|This|That|Is|In|On|At)\b)[A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĶŁĻŃŅŇŌŐŒŘŚŞŠŢŤŪŮŰŹŻŽ]"
_NAME = (
    rf"{_CAPITAL}(?:[^\W\d_]|['’-]){{0,30}}(?:[ \t]{{1,2}}(?:{_CAPITAL}(?:[^\W\d_]|['’-]){{0,30}}|{_CAPITAL}\.)){{0,3}}"
)

RULES: tuple[DetectionRule, ...] = (
    _rule(
        PersonalDataKind.SECRET,
        r"(?P<it>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s:,-]{0,8000}?"
        r"-----END [A-Z ]{0,30}PRIVATE KEY-----)",
        hints=("-----begin ",),
    ),
    _rule(
        PersonalDataKind.SECRET,
        r"(?<![\w-])(?P<it>(?:sk|pk|rk)[-_](?:(?:live|test)_|(?=[a-z_-]{0,199}[A-Z0-9]))[A-Za-z0-9_-]{16,200}|gh[pousr]_[A-Za-z0-9]{20,100}|github_pat_\w{20,100}"
        r"|xox[abprs]-[A-Za-z0-9-]{10,100}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|hf_[A-Za-z0-9]{20,60}"
        r"|glpat-[A-Za-z0-9_-]{20,60}"
        r"|eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000})(?![\w-])",
        hints=(
            *("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox"),
            *("akia", "aiza", "hf_", "glpat-", "eyj"),
        ),
    ),
    _rule(  # RFC 3986: user information in a URL; before e-mail, which the password and the host look like
        PersonalDataKind.SECRET, r"://[^\s/?#:@]{0,64}:(?P<it>(?!\[)[^\s/?#@]{1,200})@", hints=("://",)
    ),
    _rule(
        PersonalDataKind.SECRET,
        r"\b(?:password|passwort|kennwort|mot de passe|contrase[ñn]a|senha|wachtwoord|has[łl]o|passphrase|passwd|pwd"
        r"|api[ _-]?key|secret(?:[ _-]key)?|access[ _-]token|bearer)"
        r"(?:\\?[\"'`]?\s{0,3}[:=]\s{0,3}|\s{1,3}is:?\s{1,3}|\s{1,3}(?=\S{0,60}\d))\\?[\"'`]?"
        r"(?P<it>(?!\[)(?:[^\s\"'`,;\\]|\\(?![\"'`])){6,200})",
        lambda match: bool(re.search(r"[\d\W_]", match["it"].rstrip(".!?"))),
        hints=(
            *("passw", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord", "haslo", "hasło", "passphrase"),
            *("pwd", "api key", "api-key", "api_key", "apikey", "secret", "access token", "access-token"),
            *("access_token", "bearer"),
        ),
        flags=re.IGNORECASE,
    ),
    _rule(
        PersonalDataKind.EMAIL,
        r"(?<![\w.+%-])(?P<it>[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w-])",
        hints=("@",),
    ),
    _rule(
        PersonalDataKind.IBAN,
        r"(?<![A-Za-z0-9])(?P<it>[A-Za-z]{2}\d{2}(?:[ ]?[A-Za-z0-9]{4}){2,7}(?:[ ]?[A-Za-z0-9]{1,4})?)(?![A-Za-z0-9])",
        proves=is_iban,
        digits=4,
    ),
    *NATIONAL_ID_RULES,  # before cards: twelve digits in fours can be an Aadhaar
    _rule(
        PersonalDataKind.CARD,
        r"(?<![\w.+-])(?P<it>\d(?:[ -]?\d){11,18})(?![\w-]|\.\d)",
        is_of_no_goods,
        proves=is_card,
        digits=7,
    ),
    _rule(PersonalDataKind.SSN, r"(?<![\w-])(?P<it>\d{3}([- ])\d{2}\2\d{4})(?![\w-])", proves=is_ssn, digits=7),
    _rule(PersonalDataKind.IP, r"(?<![\w.])(?P<it>\d{1,3}(?:\.\d{1,3}){3})(?![\w]|\.\d)", is_public_ip, digits=4),
    _rule(
        PersonalDataKind.IP,
        r"(?<![\w:.])(?P<it>(?:[0-9A-Fa-f]{0,4}:){2,7}(?:[0-9A-Fa-f]{0,4}|(?:\d{1,3}\.){3}\d{1,3}))(?![\w:]|\.\d)",
        is_public_ip,
        hints=(":",),
    ),
    _rule(
        PersonalDataKind.PASSPORT,
        r"\bpassport(?:\s{1,3}(?:number|no\.?|nr\.?|#|id)){0,2}(?:\s{0,3}[:#=]\s{0,3}|\s{1,3}is:?\s{1,3}|\s{1,3})"
        r"(?P<it>(?=[A-Za-z]{0,3}\d)[A-Za-z0-9]{6,12})\b",
        hints=("passport",),
        flags=re.IGNORECASE,
    ),
    _rule(
        PersonalDataKind.LICENSE,
        r"\bdriv(?:er|ing)(?:['’]?s)?\s{1,3}licen[cs]e(?:\s{1,3}(?:number|no\.?|nr\.?|#|id)){0,2}"
        r"(?:\s{0,3}[:#=]\s{0,3}|\s{1,3}(?:is:?\s{1,3})?)"
        r"(?P<it>(?=[A-Za-z]{0,3}-?\d)[A-Za-z0-9](?:-?[A-Za-z0-9]){4,18})\b",
        hints=("licen",),
        flags=re.IGNORECASE,
    ),
    _rule(
        PersonalDataKind.PHONE,
        r"(?<![\w.+@/:-])(?P<it>(?:\+|00)?\(?\d(?:[ ().-]{0,3}\d){6,14}(?:x\d{1,5})?)(?![\w@/]|[-.]\d)",
        is_phone,
        digits=7,
    ),
    _rule(
        PersonalDataKind.NAME,
        rf"\b(?i:my (?:full |first |last |legal )?name is|my name['’]s|i am called|people call me|please call me"
        rf"|(?:his|her|their) name is|the name on (?:the|my) (?:card|account) is|yours sincerely,"
        rf"|(?:kind|best) regards,)\s{{1,3}}(?P<it>{_NAME})",
        hints=("name is", "name's", "name’s", "am called", "call me", "name on", "sincerely,", "regards,"),
    ),
    _rule(
        PersonalDataKind.NAME,
        rf"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Frau|Madam)\b\.?[ \t]{{1,2}}(?:(?:Dr|Prof)\.[ \t]{{1,2}})?"
        rf"(?P<it>{_NAME})",
        hints=("mr", "ms", "miss", "mx", "dr", "prof", "herr", "frau", "madam"),
    ),
)
