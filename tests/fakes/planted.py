"""Personal data that nobody has: numbers with right check digits, of several kinds and countries, made by rule."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from stdnum import luhn, verhoeff
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.es import dni
from stdnum.fi import hetu
from stdnum.iso7064 import mod_97_10
from stdnum.pl import pesel

_BANKS = {"DE": "{18}", "GB": "WEST{14}", "FR": "{23}", "NL": "ABNA{10}", "ES": "{20}", "AT": "{16}", "CH": "{17}"}


@dataclass(frozen=True, slots=True)
class PlantedValue:
    """One value of a kind, and a sentence in which somebody would say it."""

    kind: str
    value: str
    said: str


def plant_values(seed: int) -> Iterator[PlantedValue]:
    """Values without end, kind after kind, the same for each seed."""
    rng = random.Random(seed)
    number = 0
    while True:
        for kind, value, said in _values_of_a_round(rng, number):
            yield PlantedValue(kind, value, said.format(value))
            number += 1


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("123456789") for _ in range(count))


def _values_of_a_round(rng: random.Random, number: int) -> Iterator[tuple[str, str, str]]:
    yield "email", f"planted{number}.{_digits(rng, 4)}@mail{number % 7}.example.org", "Write to {} please"
    card = rng.choice(("4", "51", "37", "6011")) + _digits(rng, 9)
    card = card + _digits(rng, 15 - len(card))
    yield "card", card + luhn.calc_check_digit(card), "Charge {} for it"
    country, shape = rng.choice(sorted(_BANKS.items()))
    letters, count = shape[: shape.index("{")], int(shape[shape.index("{") + 1 : -1])
    account = letters + _digits(rng, count)
    yield "iban", f"{country}{mod_97_10.calc_check_digits(account + country)}{account}", "Pay to {} today"
    yield (
        "ip",
        f"{rng.randint(11, 99)}.{rng.randint(1, 254)}.{rng.randint(1, 254)}.{rng.randint(1, 254)}",
        "It is {} there",
    )
    yield "ip", f"2a02:{rng.randint(4096, 9999)}:{rng.randint(4096, 9999)}::{rng.randint(10, 99)}", "Or {} for short"
    yield "ssn", f"{rng.randint(100, 599)}-{rng.randint(10, 99)}-{rng.randint(1000, 9999)}", "The SSN is {} here"
    yield "phone", f"+49 30 {_digits(rng, 7)}", "Ring {} tonight"
    yield "phone", f"+1 212-555-{rng.randint(1000, 9999)}", "Or {} at noon"
    yield "phone", f"+33 6 {' '.join(_digits(rng, 2) for _ in range(4))}", "Or {} in Paris"
    yield "national_id", _spanish(rng), "DNI {} it says"
    year, month, day = rng.randint(10, 99), rng.randint(10, 12), rng.randint(10, 28)
    body = f"{year}{month}{day}{_digits(rng, 4)}"
    yield "national_id", body + pesel.calc_check_digit(body), "PESEL {} it says"
    belgian = f"{year}{month}{day}{rng.randint(100, 997)}"
    yield "national_id", _belgian(belgian), "Register {} it says"
    nine = _digits(rng, 9)
    nine += cpf._calc_check_digits(nine)
    yield "national_id", f"{nine[:3]}.{nine[3:6]}.{nine[6:9]}-{nine[9:]}", "CPF {} it says"
    finnish = f"{day}{month}{year}-{rng.randint(100, 899)}"
    yield "national_id", finnish + hetu._calc_checksum(finnish[:6] + finnish[7:]), "Hetu {} it says"
    aadhaar = str(rng.randint(2, 9)) + _digits(rng, 10)
    aadhaar += verhoeff.calc_check_digit(aadhaar)
    yield "national_id", f"{aadhaar[:4]} {aadhaar[4:8]} {aadhaar[8:]}", "Aadhaar {} it says"
    yield "secret", f"sk-{rng.randbytes(18).hex()}", "The key is {} now"
    yield (
        "secret",
        f"eyJ{rng.randbytes(12).hex()}.eyJ{rng.randbytes(20).hex()}.{rng.randbytes(20).hex()}",
        "Send {} along",
    )
    yield "secret", f"Xy{rng.randbytes(6).hex()}", "Fetch https://ann:{}@host.example.com now"


def _spanish(rng: random.Random) -> str:
    body = _digits(rng, 8)
    return body + dni.calc_check_digit(body)


def _belgian(body: str) -> str:
    check = next(f"{n:02}" for n in range(1, 98) if nn.is_valid(f"{body}{n:02}"))
    return f"{body[:2]}.{body[2:4]}.{body[4:6]}-{body[6:]}.{check}"
