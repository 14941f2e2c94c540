"""What tests of the command line ask for: an API over real HTTP to which `aos` is signed in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.api_server import ApiServer, serve_api


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """It answers what a test puts into `answers`."""
    monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("AOS_TOKEN", "access-1")
    with serve_api({}) as fake:
        monkeypatch.setenv("AOS_URL", fake.url)
        yield fake
