"""Marks find what was erased in any JSON and keep nothing of it; the stock list names what is kept outside Postgres."""

import re
from pathlib import Path

from serve_apps.governance.marks import ERASED, MOST_WINDOWS, ErasureMarks, MarkFinder, is_distinctive
from serve_apps.governance.stock import OUTSIDE

ROOT = Path(__file__).parents[2]
TEXT = "The tenant pays four hundred crowns at the end of every month, or leaves."
FINDER = MarkFinder(b"k" * 32)


def test_eight_words_in_a_row_are_found_however_they_are_set() -> None:
    marks = ErasureMarks(windows=frozenset(FINDER.windows(TEXT)))
    assert FINDER.is_in(marks, {"a": [1, None, {"b": "He said: “the TENANT pays\nfour hundred crowns, at the end”."}]})
    assert not FINDER.is_in(marks, ["The tenant pays four hundred crowns", "at the end of every month", 7, True])
    assert not MarkFinder(b"other").is_in(marks, TEXT), "nobody tries words out without the key"
    assert FINDER.windows("fewer than eight words") == set()
    long = " ".join(f"word{n}" for n in range(MOST_WINDOWS + 100))
    assert len(FINDER.windows(long, MOST_WINDOWS)) == MOST_WINDOWS


def test_ids_and_names_are_found_and_replaced_and_the_shape_stays() -> None:
    id_ = "ab" * 16
    marks = ErasureMarks(frozenset([id_]), frozenset([FINDER.name("Lease.PDF"), FINDER.name("ann@acme.example")]))
    value = {"document": id_, "file": "lease.pdf", "to": "user:Ann@acme.example", "n": 3, "other": ["cd" * 16, None]}
    assert FINDER.redacted(marks, value) == value | {"document": ERASED, "file": ERASED, "to": f"user:{ERASED}"}
    assert not FINDER.is_in(marks, {"file": "my lease.pdf", "to": "joann@acme.example", "id": id_ + "ef"})
    assert FINDER.redacted(marks, f"Ask ann@acme.example. About {id_}!") == f"Ask {ERASED}. About {ERASED}!"
    keyed = {"lease.pdf": 1, "ann@acme.example": "kept"}
    assert not FINDER.is_in(marks, keyed) and FINDER.redacted(marks, keyed) == keyed, "names of fields are not texts"
    assert [is_distinctive(name) for name in ("text", "content", "lease.pdf")] == [False, False, True]
    assert ErasureMarks.from_json(marks.as_json()) == marks
    assert "lease" not in str(marks.as_json()).lower() and "acme" not in str(marks.as_json())


def test_every_kind_of_key_in_redis_is_on_the_stock_list() -> None:
    """A new kind has to be given a place, or an erasure would pass it by."""
    known = " ".join(place.where for place in OUTSIDE)
    used = set()
    for package in ("cluster", "pipelines", "serve_apps", "skills"):
        for path in (ROOT / package).rglob("*.py"):
            used |= set(re.findall(r"""["'](aos:[a-z]+|rag_cache)[:"']""", path.read_text(encoding="utf-8")))
    assert len(used) >= 7
    assert {kind for kind in used if f"redis {kind}" not in known} == set()
