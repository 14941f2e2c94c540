"""Audits of packages: flaws fail, and so does an audit to which no database answered."""

from cluster.console.supply.audit_packages import CLEAN, FOUND, UNAVAILABLE, audit_outcome, exit_code

GOOD = {"name": "a", "version": "1", "vulns": []}
FLAWED = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "Dependency not found"}


def test_a_database_that_knows_no_package_is_no_clean_bill() -> None:
    """pip-audit itself exits with 0 then."""
    assert audit_outcome({"dependencies": [UNKNOWN]})[0] == UNAVAILABLE
    assert audit_outcome(None)[0] == UNAVAILABLE


def test_flaws_are_named_with_what_mends_them() -> None:
    code, lines = audit_outcome({"dependencies": [GOOD, FLAWED, UNKNOWN]})
    assert code == FOUND
    assert lines == ["b 2: CVE-1, mended in 3", "not known there: c", "2 packages audited, 1 flaws"]
    assert audit_outcome({"dependencies": [GOOD]})[0] == CLEAN


def test_offline_excuses_a_missing_answer_and_no_flaw() -> None:
    assert exit_code(UNAVAILABLE, offline=True) == 0
    assert exit_code(UNAVAILABLE, offline=False) == UNAVAILABLE
    assert exit_code(FOUND, offline=True) == FOUND
