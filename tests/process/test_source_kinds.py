"""Kinds of sources: each is found by its own name, and none costs memory before somebody asks for it."""

import subprocess
import sys

from pipelines.documents.sources.source_kinds import SOURCE_KINDS, WATCHED


def test_each_kind_is_found_by_its_own_name() -> None:
    assert [kind.name for kind in SOURCE_KINDS.values()] == list(SOURCE_KINDS) and len(SOURCE_KINDS) >= 12
    assert tuple(name for name, kind in SOURCE_KINDS.items() if kind.watch_root is not None) == WATCHED


def test_no_connector_is_imported_before_it_is_asked_for() -> None:
    """The gateway and the worker of an installation without sources hold none of these libraries."""
    looked = (
        "import sys; import pipelines.documents.sync.sync_wiring, pipelines.documents.sync.source_parts;"
        "print([n for n in ('smbprotocol', 'dulwich', 'imapclient', 'protego', 'obstore') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
