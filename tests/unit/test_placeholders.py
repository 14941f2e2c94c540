"""Placeholders for personal data in JSON: what is hidden, and that restoring gives back exactly what was there."""

import json
import time
from itertools import islice
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cluster.state.canonical_json import normalize_json
from cluster.state.work.placeholders import PlaceholderMap
from pipelines.documents.privacy.personal_data import find_personal_data
from tests.fakes.planted import plant_values


def test_a_value_has_one_placeholder_wherever_it_stands() -> None:
    """GV-04: also where no word says what it is, as a field of a tool's arguments, and as a number."""
    made = PlaceholderMap(find_personal_data, {})
    said = made.hide({"message": "My phone: 0490 75 40 81, mail ann@example.org", "card": 4111111111111111})
    assert said == {"message": "My phone: [PHONE 1], mail [EMAIL 1]", "card": "[CARD 1]"}
    assert made.hide({"to": "0490 75 40 81", "card": "4111111111111111"}) == {"to": "[PHONE 1]", "card": "[CARD 2]"}
    assert made.hide({"phone_number": "0301234567", "name": "a0301234567"}) == {
        "phone_number": "[PHONE 2]",
        "name": "a[PHONE 2]",
    }
    assert made.hide("GET /?to=ann%40example.org&of=0490754081") == "GET /?to=[EMAIL 2]&of=[PHONE 3]"
    assert made.hide(["x?to=eve%40example.org", {"cc": "eve@example.org"}]) == ["x?to=[EMAIL 4]", {"cc": "[EMAIL 3]"}]
    assert made.restore(said)["card"] == 4111111111111111 and made.restore("[CARD 2]") == "4111111111111111"
    later = PlaceholderMap(find_personal_data, made.fresh)
    assert later.hide("ann@example.org and bob@example.org") == "[EMAIL 1] and [EMAIL 5]"
    assert list(later.fresh) == ["[EMAIL 5]"]


_TEXTS = st.one_of(
    st.sampled_from(["[EMAIL 1]", "[EMAIL 2]", "[TEXT 1]", "a@b.cd", "write to ann@example.org", "4111111111111111"]),
    st.text(alphabet="[]AEMIL_TXa@b.cd 1234567890+-:/", max_size=40),
    st.text(max_size=30),
)
_JSON = st.recursive(
    st.one_of(_TEXTS, st.none(), st.booleans(), st.integers(), st.integers(4 * 10**15, 5 * 10**15)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_TEXTS, inner, max_size=4)),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.lists(_JSON, min_size=1, max_size=4))
@example(["[EMAIL 1] a@b.cd [EMAIL 1]", {"[EMAIL 1]": "[EMAIL 2]"}])
@example([4111111111111111, "4111111111111111", {"4111111111111111": 4111111111111111}])
def test_what_is_hidden_is_restored_exactly(values: list[Any]) -> None:
    """Texts that look like placeholders included, step after step, with what an earlier owner has made."""
    known: dict[str, str | int] = {}
    hidden = []
    for value in values:
        made = PlaceholderMap(find_personal_data, known)
        hidden.append(made.hide(normalize_json(value)))
        known |= made.fresh
    last = PlaceholderMap(find_personal_data, known)
    for value, shown in zip(values, hidden, strict=True):
        assert normalize_json(last.restore(shown)) == normalize_json(value)


def test_nothing_of_what_was_planted_is_left() -> None:
    planted = list(islice(plant_values(3), 200))
    made = PlaceholderMap(find_personal_data, {})
    hidden = made.hide({"input": [one.said for one in planted], "arguments": [one.value for one in planted]})
    assert [one.value for one in planted if one.value in json.dumps(hidden)] == []


def test_a_list_of_many_people_costs_little_more_than_its_length() -> None:
    """A tool that lists two thousand people took most of a minute, and the run's lease had run out by then."""
    people = [{"id": at, "email": f"user{at}@example.com", "phone": f"+49 170 {1000000 + at}"} for at in range(2000)]
    made = PlaceholderMap(find_personal_data, {})
    began = time.process_time()
    hidden = made.hide([*people, "user7%40example.com, 491701000007 and user70@example.com"])
    assert time.process_time() - began < 5
    assert hidden[7] == {"id": 7, "email": "[EMAIL 8]", "phone": "[PHONE 8]"}
    assert "user" not in json.dumps(hidden) and hidden[-1].endswith("and [EMAIL 71]")
    assert made.restore(hidden)[:-1] == people
    assert PlaceholderMap(find_personal_data, made.fresh).hide("to user70@example.com") == "to [EMAIL 71]"
