"""What a crawl has read lies on the disk until it is taken: within bounds, the newest longest."""

import os
import time
from pathlib import Path

from pipelines.documents.sources.source_cache import CachePlace
from pipelines.documents.sources.web_source import SiteBodies

DAY = 86_400


def test_what_nobody_came_for_goes_and_of_too_many_bytes_the_oldest(tmp_path: Path) -> None:
    bodies = SiteBodies(CachePlace(tmp_path / "site", most_bytes=30))
    for age, name in enumerate(("new", "young", "older", "oldest")):
        bodies.keep(name, b"0123456789")
        os.utime(tmp_path / "site" / name, (at := time.time() - 100 * age, at))
    bodies.begin()
    assert {path.name for path in (tmp_path / "site").iterdir()} == {"new", "young", "older"}
    os.utime(tmp_path / "site" / "young", (at := time.time() - 3 * DAY, at))
    bodies.begin()
    assert bodies.find("young") is None
    assert bodies.find("new") == bodies.find("older") == b"0123456789"
