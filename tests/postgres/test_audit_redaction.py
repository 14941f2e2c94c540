"""What the application may take out of the audit trail: words of what was erased, and nothing put in their place."""

import psycopg
import pytest

CASES = [
    ('"ann@acme.example"', '"[erased]"', True),
    ('"user:ann@acme.example, 5 %"', '"user:[erased], 5 %"', True),
    ('"ann"', '"bob"', False),
    ('"ann"', '"forged [erased]"', False),
    ('"a%b_c\\\\d"', '"a%b_c\\\\d"', True),
    ('"axb"', '"a%b"', False),
    ('{"a": "x", "n": 1}', '{"a": "[erased]", "n": 1}', True),
    ('{"a": "x", "n": 1}', '{"a": "[erased]", "n": 2}', False),
    ('{"a": "x"}', '{"a": "x", "role": "admin"}', False),
    ('{"a": "x"}', "{}", False),
    ('["x", {"b": "y"}]', '["[erased]", {"b": "y"}]', True),
    ('["x", "y"]', '["x"]', False),
    ("{}", "{}", True),
]


@pytest.mark.parametrize(("former", "later", "holds"), CASES)
def test_an_entry_loses_words_and_nothing_else(admin_dsn: str, former: str, later: str, holds: bool) -> None:
    with psycopg.connect(admin_dsn) as owner:
        row = owner.execute("select is_redaction(%s::jsonb, %s::jsonb)", (former, later)).fetchone()
    assert row == (holds,)
