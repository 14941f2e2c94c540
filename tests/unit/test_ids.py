"""Ids from outside: one spelling, or nothing."""

import pytest

from cluster.basics.errors import NotFound
from cluster.basics.ids import as_uuid, uuid_of

PLAIN = "0b7f0d3e-5c1c-4c61-9f0b-3f5b8a1d2c4e"


@pytest.mark.parametrize("text", [PLAIN, PLAIN.upper(), PLAIN.replace("-", ""), f"{{{PLAIN}}}", f"urn:uuid:{PLAIN}"])
def test_every_spelling_of_a_uuid_is_one_id(text: str) -> None:
    assert as_uuid(text) == PLAIN == uuid_of(text, "run")


@pytest.mark.parametrize("text", ["", "my session", PLAIN[:-1], f"{PLAIN}0", "g" * 32])
def test_what_is_none_names_nothing(text: str) -> None:
    assert as_uuid(text) is None
    with pytest.raises(NotFound) as missing:
        uuid_of(text, "run")
    assert missing.value.detail == f"run {text}" and missing.value.status == 404
