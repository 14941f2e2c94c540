"""A test that failed beside everything else has one more chance, alone."""

from pathlib import Path

from tests import suite


def test_what_fails_again_alone_stays_failed(tmp_path: Path) -> None:
    unsteady = tmp_path / "test_unsteady.py"
    unsteady.write_text("def test_a() -> None:\n    assert False\n")
    assert not suite.again([[str(unsteady)]], tmp_path / "first")
    unsteady.write_text("def test_a() -> None:\n    assert True\n")
    assert suite.again([[str(unsteady)]], tmp_path / "second")
