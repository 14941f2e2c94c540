"""A bucket as a source, over a real S3 server on loopback: listed, read in ranges, and read no more than once."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
import pytest
from obstore.store import S3Store

from cluster.basics.scope import Scope
from cluster.state.vault import Vault, VaultKey, secret_place
from pipelines.documents.sources.source_port import ItemGone, SourceAway, SourceInvalid, SourceItem, SourceRefused
from tests.fakes.ledger import Bench
from tests.fakes.s3 import run_s3
from tests.fakes.shelves import SyncBench, sync_bench


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with run_s3() as server:
        yield server.endpoint


@pytest.fixture
async def bucket(endpoint: str) -> Any:
    """A bucket of its own, to be filled."""
    import boto3

    name = f"b{uuid4().hex[:12]}"
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(Bucket=name)
    return S3Store(
        name,
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="k",
        secret_access_key="s",
        client_options={"allow_http": True},
        virtual_hosted_style_request=False,
    )


@pytest.fixture
def sources(ledger: Bench, scope: Scope) -> SyncBench:
    return sync_bench(ledger, scope, None, allow=("127.0.0.1",))


async def credential(ledger: Bench, scope: Scope, fields: dict[str, str], *, bound: bool = False) -> str:
    """One of the workspace's, sealed as the product seals it."""
    id_, name = str(uuid4()), f"key-{uuid4().hex[:6]}"
    place = secret_place(scope.tenant, scope.workspace, "credentials", id_)
    async with ledger.database.transaction(scope) as tx:
        await tx.run(
            "insert into credentials (id, tenant_id, workspace_id, name, type, sealed, fields, bound)"
            " values (%(id)s, %(tenant)s, %(workspace)s, %(name)s, 'custom', %(sealed)s, %(fields)s, %(bound)s)",
            **scope.keys,
            id=id_,
            name=name,
            sealed=Vault([VaultKey(b"k" * 32)]).seal(json.dumps(fields), place),
            fields=sorted(fields),
            bound=bound,
        )
    return name


KEYS = {"access_key_id": "k", "secret_access_key": "s"}


async def test_a_bucket_of_200_is_read_once_and_then_only_what_changed(
    sources: SyncBench, ledger: Bench, scope: Scope, bucket: Any, endpoint: str
) -> None:
    for n in range(200):
        await obstore.put_async(bucket, f"papers/{n % 7}/{n:03}.txt", f"Paper {n} tells of harbour {n}.".encode())
    await obstore.put_async(bucket, "elsewhere/x.txt", b"Not below the prefix.")
    await obstore.put_async(bucket, "papers/~$lock.txt", b"A program's own.")
    name = await credential(ledger, scope, KEYS)
    settings = {"bucket": bucket.config["bucket"], "endpoint": endpoint, "prefix": "papers"}
    source = await sources.add("s3", settings, credential=name)
    assert await sources.sync(source) == {"listed": 200, "added": 200}
    assert len(await sources.documents("user:x@x")) == 200
    before = await sources.ids()
    ledger.reader.readings.clear()
    for n in range(5):
        await obstore.put_async(bucket, f"papers/new{n}.txt", f"New paper {n}.".encode())
        await obstore.put_async(bucket, f"papers/{n}/{n:03}.txt", f"Paper {n} tells of another harbour.".encode())
        await obstore.delete_async(bucket, f"papers/{(n + 10) % 7}/{n + 10:03}.txt")
        await obstore.rename_async(bucket, f"papers/{(n + 20) % 7}/{n + 20:03}.txt", f"papers/moved{n}.txt")
        again = f"papers/{(n + 30) % 7}/{n + 30:03}.txt"
        await obstore.put_async(bucket, again, f"Paper {n + 30} tells of harbour {n + 30}.".encode())
    counts = await sources.sync(source)
    assert counts == {"listed": 200, "added": 5, "changed": 5, "moved": 5, "unchanged": 185, "removed": 5}
    assert sum(ledger.reader.readings.values()) == 10, "an object that was written again with its bytes is not read"
    now = await sources.ids()
    assert {now[f"moved{n}.txt"] for n in range(5)} == {before[f"{n + 20:03}.txt"] for n in range(5)}
    found = await sources.documents("user:x@x")
    assert len(found) == 200 and found["000.txt"] == "Paper 0 tells of another harbour."


async def test_an_object_is_read_in_ranges_and_only_with_the_credential(
    sources: SyncBench, ledger: Bench, scope: Scope, bucket: Any, endpoint: str
) -> None:
    await obstore.put_async(bucket, "a.txt", b"0123456789")
    settings = {"bucket": bucket.config["bucket"], "endpoint": endpoint}
    opened = await sources.parts.opener.open(scope, "s3", settings, await credential(ledger, scope, KEYS))
    nobody = await sources.parts.opener.open(scope, "s3", settings, None)

    async def read(name: str, *span: int) -> bytes:
        return b"".join([block async for block in opened.read(SourceItem(name, "1", name), *span)])

    assert [await read("a.txt"), await read("a.txt", 4), await read("a.txt", 4, 3)] == [
        b"0123456789",
        b"456789",
        b"456",
    ]
    with pytest.raises(ItemGone):
        await read("b.txt")
    with pytest.raises(SourceRefused, match="access was refused"):
        _ = [block async for block in nobody.read(SourceItem("a.txt", "1", "a.txt"))]


async def test_a_bucket_or_a_credential_that_is_not_there_is_refused_by_name(
    sources: SyncBench, ledger: Bench, scope: Scope, endpoint: str, tmp_path: Path
) -> None:
    opener, settings = sources.parts.opener, {"bucket": f"no{uuid4().hex[:8]}", "endpoint": endpoint}
    opened = await opener.open(scope, "s3", settings, None)
    with pytest.raises(SourceRefused, match="no such bucket"):
        _ = [page async for page in opened.list_changes(None)]
    with pytest.raises(SourceRefused, match="no such credential"):
        await opener.open(scope, "s3", settings, "none")
    bound = await credential(ledger, scope, KEYS, bound=True)
    with pytest.raises(SourceRefused, match="kept for some agents"):
        await opener.open(scope, "s3", settings, bound)


@pytest.mark.parametrize("region", ["@127.0.0.1:9/", "x.example/", "eu west", "a" * 65])
async def test_a_region_leads_to_no_other_host(sources: SyncBench, scope: Scope, region: str) -> None:
    with pytest.raises(SourceInvalid, match="region"):
        await sources.parts.opener.open(scope, "s3", {"bucket": "b", "region": region}, None)


LISTED = (
    b'<?xml version="1.0"?><ListBucketResult><Name>b</Name><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated>'
    b"<Contents><Key>a.txt</Key><LastModified>%s</LastModified><Size>3</Size></Contents></ListBucketResult>"
)


@pytest.mark.parametrize("when", [b"9999-12-31T23:59:59-14:00", b"0000-01-01T00:00:00Z", b"yesterday"])
async def test_a_service_that_makes_no_sense_is_away_and_a_key_that_is_none_fails_alone(
    sources: SyncBench, scope: Scope, when: bytes
) -> None:
    async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = LISTED % when
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(reply, "127.0.0.1", 0) as service:
        port = service.sockets[0].getsockname()[1]
        settings = {"bucket": "b", "endpoint": f"http://127.0.0.1:{port}"}
        opened = await sources.parts.opener.open(scope, "s3", settings, None)
        with pytest.raises(SourceAway):
            _ = [page async for page in opened.list_changes(None)]
        for key in ("a//b", "../x", "\0"):
            with pytest.raises(SourceRefused):
                _ = [block async for block in opened.read(SourceItem(key, "1", "x.txt"))]
        await opened.close()
