"""What clouds answer is looked at before it is believed, and their listings have to end."""

import pytest

from pipelines.documents.sources.checked_http import classified_faults
from pipelines.documents.sources.cloud.cloud_answers import (
    ListingSteps,
    id_of,
    load_object,
    name_of,
    part_of,
    rows_of,
    size_of,
    text_of,
    text_or_none,
)
from pipelines.documents.sources.cloud.cloud_client import CursorExpired, listing_faults
from pipelines.documents.sources.source_port import ItemGone, SourceAway, SourceRefused


def test_a_step_is_taken_once_and_there_are_not_too_many() -> None:
    steps = ListingSteps("Cloud", most=3)
    assert [steps.next("1"), steps.next("1", of="folder"), steps.next("2")] == ["1", "1", "2"]
    with pytest.raises(SourceRefused, match="more than 3 pages"):
        steps.next("3")
    for again in ("1", "2"):
        with pytest.raises(SourceAway, match="Cloud goes round in circles"):
            steps.next(again)
    for none in ("", None, 5, ["1"], {}):
        with pytest.raises(SourceAway, match="breaks its listing off"):
            ListingSteps("Cloud").next(none)
    assert ListingSteps("Cloud").next("\ud800") == "\ud800"


@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"{", b'{"a": NaN}', b'{"a": -Infinity}', b"[" * 200_000, b"\xff"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        load_object(body)


def test_names_become_parts_of_a_path() -> None:
    told = {"a/b": "a∕b", "a\0b": "a�b", "\ud800": "�", "..": "_..", ".": "_.", "": "_", " ": "_ ", "ä.txt": "ä.txt"}
    assert {name: name_of({"name": name}) for name in told} == told


@pytest.mark.parametrize("size", ["", "-1", "1.5", "٣", "1" * 30, 1.5, True, -1, 2**63, [], {}])
def test_a_size_is_a_number_of_bytes(size: object) -> None:
    assert size_of({"size": "12"}) == size_of({"size": 12}) == 12 and size_of({}) is None
    with pytest.raises(ValueError, match="size"):
        size_of({"size": size})


def test_texts_ids_and_lists_are_what_they_are_taken_for() -> None:
    assert text_of({"a": None, "b": "", "c": "x"}, "a", "b", "c") == "x"
    assert text_or_none({}, "a") is None and part_of({}, "a") == {}
    for wrong in (5, ["x"], {"x": 1}, True, "a\0", "\ud800"):
        with pytest.raises(ValueError, match="no text"):
            text_or_none({"a": wrong}, "a")
    for wrong in ("", "..", "a/b", "x" * 2000):
        with pytest.raises(ValueError, match="id"):
            id_of({"id": wrong})
    for wrong in (None, 5, {}, [5], [{}, "x"]):
        with pytest.raises(ValueError, match="no list of objects"):
            rows_of({"rows": wrong}, "rows")
    with pytest.raises(ValueError, match="no object"):
        part_of({"a": [1]}, "a")


def test_faults_of_a_service_are_its_own_and_ours_stay_ours() -> None:
    for error in (KeyError("x"), TypeError(), ValueError(), AttributeError(), OverflowError(), RecursionError()):
        with pytest.raises(SourceAway, match="makes no sense"), classified_faults("Cloud"):
            raise error
    for error in (CursorExpired("x"), ItemGone("x"), SourceRefused("x")):
        with pytest.raises(type(error)), classified_faults("Cloud"):
            raise error
    with pytest.raises(SourceRefused, match="no such place"), listing_faults("Cloud"):
        raise ItemGone("x")
    with pytest.raises(AssertionError), classified_faults("Cloud"):
        raise AssertionError
