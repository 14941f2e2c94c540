"""Git repositories as sources, over a real Git server on loopback: read once, then only what changed."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import ItemGone, SourceBounds, SourceInvalid, SourceRefused
from pipelines.documents.sync.source_opener import EndpointGuard, EndpointRefused, SourceOpener
from pipelines.documents.sync.source_sync import SyncCutOff
from tests.fakes.git_server import GitServer, git, git_server, push
from tests.fakes.ledger import Bench
from tests.fakes.reading import WorkerKilled
from tests.fakes.shelves import CutLedger, SyncBench, sync_bench, use_sync
from tests.postgres.test_s3_source import credential


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as one:
        yield one


@pytest.fixture
def sources(ledger: Bench, scope: Scope, tmp_path: Path) -> SyncBench:
    (tmp_path / "base").mkdir()
    return sync_bench(ledger, scope, str(tmp_path / "base"), allow=("127.0.0.1",), cache=tmp_path / "cache")


@pytest.fixture
def work(server: GitServer) -> Path:
    """200 files, pushed."""
    place = server.repository()
    for n in range(200):
        one = place / "docs" / f"p{n % 7}" / f"{n:03}.txt"
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text(f"Paper {n} tells of harbour {n}.")
    push(place)
    return place


def url_of(server: GitServer) -> dict[str, str]:
    return {"url": f"{server.url}/papers.git"}


def paper(work: Path, n: int) -> Path:
    return work / "docs" / f"p{n % 7}" / f"{n:03}.txt"


async def test_a_repository_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, server: GitServer, work: Path
) -> None:
    source = await sources.add("git", url_of(server))
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(await sources.documents("user:x@x")) == 200
    before, first = await sources.ids(), server.sent[0]
    ledger.reader.readings.clear()
    for n in range(5):
        (work / f"new{n}.txt").write_text(f"New paper {n}.")
        paper(work, n).write_text(f"Paper {n} tells of another harbour.")
        paper(work, n + 10).unlink()
        paper(work, n + 20).rename(work / f"moved{n}.txt")
    push(work)
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "changed": 5, "moved": 5, "unchanged": 185, "removed": 5}
    assert sum(ledger.reader.readings.values()) == 10
    now = await sources.ids()
    assert {now[f"moved{n}.txt"] for n in range(5)} == {before[f"{n + 20:03}.txt"] for n in range(5)}
    found = await sources.documents("user:x@x")
    assert len(found) == 200 and found["000.txt"] == "Paper 0 tells of another harbour."
    assert len(server.sent) == 2 and server.sent[1] < first / 3, "only what is new was sent"
    assert await sources.sync(source) == {"listed": 200, "unchanged": 200}
    assert len(server.sent) == 2, "nothing was sent: the commit is the same"


async def test_history_may_be_rewritten_and_an_emptied_repository_waits_for_a_person(
    sources: SyncBench, server: GitServer, work: Path
) -> None:
    source = await sources.add("git", url_of(server))
    await sources.sync(source)
    paper(work, 1).write_text("Paper 1 was rewritten.")
    push(work, rewritten=True)
    assert await sources.sync(source) == {"listed": 200, "changed": 1, "unchanged": 199}
    shutil.rmtree(work / "docs")
    push(work, rewritten=True)
    assert await sources.sync(source) == {"waiting": 200}
    assert (await sources.show(source))["waiting"]["reason"] == "empty"
    assert len(await sources.documents("user:x@x")) == 200
    git(work.parent / "served/papers.git", "update-ref", "-d", "refs/heads/main")
    assert await sources.sync(source) == {"waiting": 200}, "also where no branch is left"


async def test_links_and_submodules_are_told_and_patterns_hold(
    sources: SyncBench, server: GitServer, work: Path
) -> None:
    (work / "docs" / "link.txt").symlink_to("/etc/passwd")
    (work / "docs" / "a.md").write_text("# A")
    (work / ".github").mkdir()
    (work / ".github" / "hidden.txt").write_text("Hidden.")
    git(work, "add", "-A")
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},docs/module")
    git(work, "commit", "-q", "-m", "links")
    git(work, "push", "-q", "origin", "HEAD:main")
    settings = {**url_of(server), "folder": "docs", "exclude": "p1/* docs/p2/*, 00*.txt", "branch": "main"}
    source = await sources.add("git", settings)
    counts = await sources.sync(source)
    kept = [n for n in range(200) if n % 7 != 2 and n > 9]
    assert counts == {"listed": len(kept) + 1, "added": len(kept) + 1, "passed": 2}
    told = (await sources.show(source))["last_plan"]["samples"]["passed"]
    assert sorted(told) == [
        "docs/link.txt: a symbolic link is not followed",
        "docs/module: a submodule is not followed",
    ]
    assert (await sources.show(source))["last_error"] is None, "removals and moves go on"
    only = await sources.add("git", {**url_of(server), "include": "*.md"}, name="two")
    assert await sources.sync(only) == {"listed": 1, "added": 1}


async def test_large_files_come_from_lfs_or_are_told_and_are_never_text(
    sources: SyncBench, server: GitServer, work: Path
) -> None:
    (work / "large.txt").write_text(server.keep(b"The large file tells of whales. " * 1000))
    (work / "lost.txt").write_text(pointer := server.keep(b"Nobody has this."))
    (work / "forged.txt").write_text(server.keep(b"Right."))
    del server.lfs[pointer.split("sha256:")[1][:64]]
    server.lfs = {oid: b"Wrong." if content == b"Right." else content for oid, content in server.lfs.items()}
    push(work)
    source = await sources.add("git", {**url_of(server), "include": "l*.txt forged.txt"})
    assert await sources.sync(source) == {"listed": 3, "added": 3}
    found = await sources.documents("user:x@x")
    assert list(found) == ["large.txt"] and found["large.txt"].startswith("The large file tells of whales.")
    items, _ = await sources.parts.store.items(sources.scope, source, "failed", skip=0, limit=9)
    assert sorted(one["path"] for one in items) == ["forged.txt", "lost.txt"] and "LFS" in str(items)


async def test_a_server_that_refuses_lies_or_breaks_off_removes_nothing(
    sources: SyncBench, ledger: Bench, scope: Scope, server: GitServer, work: Path
) -> None:
    server.password = "right"
    names = {word: await credential(ledger, scope, {"token": word}) for word in ("right", "wrong")}
    source = await sources.add("git", url_of(server), credential=names["right"])
    assert (await sources.sync(source))["added"] == 200
    paper(work, 1).write_text("Paper 1 was changed.")
    push(work)
    cases: list[tuple[dict[str, object], type[Exception], str]] = [
        ({"password": "other"}, SourceRefused, "access was refused"),
        ({"status": 302, "location": "http://169.254.169.254/"}, SourceRefused, "has moved"),
        ({"status": 404}, SourceRefused, "no such repository"),
        ({"status": 503}, SyncCutOff, "answers 503"),
        ({"status": 200}, SourceRefused, "no git server"),
        ({"cut": 300}, SyncCutOff, "the server|the pack"),
        ({"spoil": lambda sent: sent[:-60] + os.urandom(60)}, SyncCutOff, "the server|the pack"),
        ({"spoil": lambda sent: sent.replace(b"PACK", b"KCAP")}, SyncCutOff, "the server|the pack"),
    ]
    for change, kind, words in cases:
        usual = {name: getattr(server, name) for name in change}
        for name, value in change.items():
            setattr(server, name, value)
        await sources.start(source)
        with pytest.raises(kind, match=words):
            await ledger.run()
        await ledger.rows(scope, "update jobs set state = 'failed' where state = 'running' returning id")
        assert len(await sources.documents("user:x@x")) == 200, change
        for name, value in usual.items():
            setattr(server, name, value)
    assert await sources.sync(source) == {"listed": 200, "changed": 1, "unchanged": 199}
    opener = sources.parts.opener
    wrong = await opener.open(scope, "git", url_of(server), names["wrong"])
    with pytest.raises(SourceRefused, match="access was refused"):
        _ = [page async for page in wrong.list_changes(None)]
    named = await opener.open(scope, "git", {**url_of(server), "branch": "none"}, names["right"])
    with pytest.raises(SourceRefused, match="no branch none"):
        _ = [page async for page in named.list_changes(None)]


async def test_a_pack_over_the_bound_is_refused_and_so_is_one_that_inflates_without_end(
    sources: SyncBench, ledger: Bench, scope: Scope, server: GitServer, work: Path, tmp_path: Path
) -> None:
    (work / "noise.txt").write_bytes(os.urandom(1 << 20))
    (work / "zeros.txt").write_bytes(bytes(64 << 20))
    push(work)

    async def listed(most: int) -> list[str]:
        opener = SourceOpener(
            ledger.database,
            None,  # type: ignore[arg-type]
            None,
            EndpointGuard(("127.0.0.1",)),
            cache=tmp_path / f"cache{most}",
            bounds=SourceBounds(git_pack_bytes=most),
        )
        opened = await opener.open(scope, "git", url_of(server), None)
        return [item.path async for page in opened.list_changes(None) for item in page.items]

    with pytest.raises(SourceRefused, match="larger than 1000000 bytes"):
        await listed(1_000_000)
    with pytest.raises(SourceRefused, match="too large"):
        await listed(2_000_000)
    assert len(await listed(8_000_000)) == 202


@pytest.mark.parametrize("after", [False, True])
async def test_killed_in_the_middle_nothing_is_lost_or_doubled(
    sources: SyncBench, ledger: Bench, server: GitServer, work: Path, tmp_path: Path, after: bool
) -> None:
    source = await sources.add("git", url_of(server))
    plain, opener, steps = ledger.jobs, sources.parts.opener, 0
    for at in (2, 3, 5, 40):
        (work / f"new{at}.txt").write_text(f"New {at}.")
        paper(work, at).write_text(f"Paper {at} was changed.")
        push(work)
        ledger.jobs = CutLedger(ledger.database)
        ledger.jobs.at, ledger.jobs.after = at, after
        use_sync(ledger, opener)
        await sources.start(source)
        try:
            await ledger.run(owner="killed")
        except WorkerKilled:
            steps += 1
        ledger.jobs = plain
        use_sync(ledger, opener)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)  # the next worker may be another machine
        if (await sources.show(source))["job_state"] == "running":
            await sources.lapse()
            await ledger.run(owner="next")
    await sources.sync(source)
    found = await sources.documents("user:x@x")
    assert steps >= 3 and len(found) == 204 and found["040.txt"] == "Paper 40 was changed."


async def test_2000_files_and_then_only_what_changed(
    sources: SyncBench, server: GitServer, work: Path, scope: Scope
) -> None:
    """Listed and read, without the documents' work that other tests do."""
    for n in range(200, 2000):
        paper(work, n).write_text(f"Paper {n} tells of harbour {n}.")
    push(work)
    opened = await sources.parts.opener.open(scope, "git", url_of(server), None)
    items = [item async for page in opened.list_changes(None) for item in page.items]
    assert len(items) == 2000
    texts = [b"".join([block async for block in opened.read(one)]) for one in items[:100]]
    assert all(text.startswith(b"Paper ") for text in texts)
    part = b"".join([block async for block in opened.read(items[0], 6, 3)])
    assert part == texts[0][6:9]
    await opened.close()


async def test_a_path_is_read_where_it_lies_and_never_outside(
    sources: SyncBench, scope: Scope, server: GitServer, work: Path, tmp_path: Path
) -> None:
    base = tmp_path / "base"
    shutil.copytree(tmp_path / "served" / "papers.git", base / "papers.git")
    source = await sources.add("git", {"url": "papers.git", "folder": "docs/p1"})
    assert (await sources.sync(source))["added"] == 29
    (base / "empty").mkdir()
    shutil.copytree(base / "papers.git", base / "elsewhere.git")
    (base / "elsewhere.git" / "objects" / "info").mkdir(exist_ok=True)
    (base / "elsewhere.git" / "objects" / "info" / "alternates").write_text(str(tmp_path / "served/papers.git/objects"))
    (base / "link.git").symlink_to(tmp_path / "served" / "papers.git")
    (base / "inside.git").symlink_to("papers.git")
    shutil.copytree(base / "papers.git", base / "hollow.git")
    shutil.rmtree(base / "hollow.git" / "objects")
    (base / "hollow.git" / "objects").symlink_to(base / "papers.git" / "objects")
    pinned = await sources.parts.opener.pin("git", {"url": "inside.git"})
    assert pinned == {"url": str(base / "papers.git")}, "a link is followed when a source is saved, and not again"
    cases: list[tuple[str, type[Exception]]] = [
        ("inside.git", SourceRefused),
        ("hollow.git", SourceInvalid),
        ("../served/papers.git", SourceInvalid),
        ("elsewhere.git", SourceInvalid),
        ("link.git", SourceInvalid),
        ("empty", SourceRefused),
    ]
    for path, kind in cases:
        with pytest.raises(kind):
            opened = await sources.parts.opener.open(scope, "git", {"url": path}, None)
            _ = [page async for page in opened.list_changes(None)]
    with pytest.raises(EndpointRefused):
        await sources.parts.opener.open(scope, "git", {"url": "http://169.254.169.254/x.git"}, None)


async def test_what_is_not_in_the_cache_any_more_is_fetched_again(
    sources: SyncBench, scope: Scope, server: GitServer, work: Path, tmp_path: Path
) -> None:
    opened = await sources.parts.opener.open(scope, "git", url_of(server), None)
    items = [item async for page in opened.list_changes(None) for item in page.items]
    spoil: list[Callable[[], object]] = [
        lambda: shutil.rmtree(tmp_path / "cache"),
        lambda: [one.write_bytes(b"spoilt") for one in (tmp_path / "cache").rglob("*.pack") if not one.chmod(0o600)],
        lambda: [one.unlink() for one in (tmp_path / "cache").rglob("*.idx")],
    ]
    for act in spoil:
        act()
        again = await sources.parts.opener.open(scope, "git", url_of(server), None)
        assert b"".join([block async for block in again.read(items[3])]).startswith(b"Paper")
        await again.close()


def garbled(folder: Path, name: str) -> None:
    """One of its files says something else."""
    place = folder / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes({"packed-refs": b"", "HEAD": b"ref: HEAD\n"}.get(name, b"garbage \xff\n"))


def broken_tree(work: Path) -> str:
    """A tree that git keeps and nobody can read."""
    command = ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    found = subprocess.run(command, cwd=work, input=b"100644 \xff", stdout=subprocess.PIPE, check=True)
    return found.stdout.decode().strip()


@pytest.mark.parametrize("name", ["packed-refs", "HEAD", "refs/heads/main", "config", "objects", "tree"])
async def test_a_repository_whose_store_makes_no_sense_is_refused_and_holds_nobody_up(
    sources: SyncBench, scope: Scope, tmp_path: Path, name: str
) -> None:
    work = tmp_path / "base" / "garbled"
    (work / "docs" / "p1").mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    paper(work, 1).write_text("Paper 1.")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    opened = await sources.parts.opener.open(scope, "git", {"url": "garbled"}, None)
    (item,) = [one async for page in opened.list_changes(None) for one in page.items]
    await opened.close()
    if name == "objects":
        for place in (work / ".git" / "objects").glob("??/*"):
            garbled(work, str(place.relative_to(work / ".git")))
    elif name == "tree":
        broken = broken_tree(work)
        commit = git(work, "commit-tree", "-m", "x", broken).strip()
        (work / ".git" / "refs" / "heads" / "main").write_text(f"{commit}\n")
    else:
        garbled(work, name)
    async with asyncio.timeout(20):
        opened = await sources.parts.opener.open(scope, "git", {"url": "garbled"}, None)
        with suppress(SourceRefused):  # some of it git reads over
            _ = [page async for page in opened.list_changes(None)]
        gone = replace(item, version="1" * 40)
        for one in (item, gone):
            again = await sources.parts.opener.open(scope, "git", {"url": "garbled"}, None)
            with suppress(SourceRefused, ItemGone):
                read = b"".join([block async for block in again.read(one)])
                assert one is item and read == b"Paper 1."
            await again.close()
        await opened.close()
