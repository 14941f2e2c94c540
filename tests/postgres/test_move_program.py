"""The program behind `aos export WORKSPACE`, `aos import` and `aos merge`, on the settings of a machine."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import corpus
from tests.fakes.portable import Yard, open_yard

Run = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


@pytest.fixture
async def yard(admin_dsn: str, app_dsn: str, tmp_path: Path) -> AsyncIterator[Yard]:
    async with open_yard(admin_dsn, app_dsn, tmp_path) as yard:
        yield yard


@pytest.fixture
def run(tmp_path: Path, app_dsn: str, admin_dsn: str) -> Run:
    environment = {**os.environ, "AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": app_dsn}

    async def go(*words: str, admin: bool = True, state: str = "") -> dict[str, Any]:
        own = environment | ({"DATABASE_ADMIN_URL": admin_dsn} if admin else {})
        own |= {"AOS_STATE_DIR": str(tmp_path / state)} if state else {}
        command = [sys.executable, "-m", "pipelines.documents.portable.move_program", *words]
        done = await asyncio.to_thread(subprocess.run, command, env=own, capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        return dict(json.loads(done.stdout))

    return go


async def test_out_and_in_again_by_name(yard: Yard, run: Run) -> None:
    mine, target = corpus.open_home(yard.admin, "archive"), corpus.open_home(yard.admin, "arrival")
    generation = corpus.open_generation(yard.admin, mine, target)
    yard.fill(mine, generation, range(3))
    folder = str(yard.folder / "moved")
    planned = await run("export", folder, "--workspace", "archive", "--dry-run")
    assert (planned["documents"], planned["pages"]) == (3, 6) and [one.name for one in yard.folder.glob("moved")] == []
    sent = await run("export", folder, "--workspace", "archive")
    assert sent["counts"]["documents"] == 3 and sent["vector_space"]["embedder"] == "fake"
    planned = await run("import", folder, "--workspace", "arrival", "--dry-run")
    assert planned["documents"]["new"] == 3 and not yard.contents(target)["documents"]
    made = await run("import", folder, "--workspace", "arrival", "--tenant", target.tenant)
    assert (made["written"], made["vectors"], made["signer"]) == (3, "kept", sent["key"])
    assert yard.contents(target) == yard.contents(mine)
    merged = await run("merge", folder, "--workspace", "arrival", "--readers", "keep")
    assert merged["written"] == 0
    acts = yard.admin.execute("select action from audit order by tenant_id, seq").fetchall()
    assert sorted(acts) == [("workspace.export",), ("workspace.import",)]


async def test_errors_are_told_by_name(yard: Yard, run: Run) -> None:
    home = corpus.open_home(yard.admin, "archive")
    corpus.open_home(yard.admin, "archive")
    nowhere = str(yard.folder / "nowhere")

    async def code(*words: str, **more: Any) -> str:
        return str((await run(*words, **more))["error"]["code"])

    assert await code("import", nowhere, "--workspace", "archive") == "invalid"  # two are called so
    assert await code("import", nowhere, "--workspace", "archive", "--tenant", home.tenant) == "no_export"
    assert await code("export", nowhere, "--workspace", "none") == "not_found"
    assert await code("export", nowhere, "--workspace", "archive", "--tenant", "nobody") == "not_found"
    assert await code("export", nowhere, "--workspace", "archive", admin=False) == "invalid"
    named = ("--workspace", "archive", "--tenant", home.tenant)
    assert (await run("export", nowhere, *named, admin=False))["counts"]["documents"] == 0
    assert await code("import", nowhere, *named, state="other") == "unknown_signer"
