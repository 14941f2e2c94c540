"""Who is served next in a lane: tenants by what they had, then their workspaces, then the oldest; counted in slices."""

import time
from collections import Counter
from contextlib import ExitStack

import psycopg
import pytest

from cluster.basics.scope import Scope
from cluster.state.work.jobs import ClaimedJob, JobId, JobLane, JobLease
from cluster.state.work.lane_shares import LaneShares
from cluster.state.work.work_bell import WorkBell
from tests.fakes.ledger import Bench, new_workspace
from tests.postgres.test_job_waits import why

SLICE = 5


async def uploads(ledger: Bench, scope: Scope, count: int) -> list[JobId]:
    return [await ledger.enqueue(scope, "upload", {"files": []}, JobLane.SMALL) for _ in range(count)]


async def places(ledger: Bench, count: int) -> None:
    for n in range(count):
        await ledger.jobs.seen(f"w{n}", JobLane.SMALL, None)


async def slices(ledger: Bench, count: int) -> list[JobId]:
    """The jobs that get the next so many slices of one worker, each as long as the others."""
    served = []
    for _ in range(count):
        job = await ledger.claim(lane=JobLane.SMALL)
        await ledger.jobs.end_turn(job, SLICE)
        await ledger.jobs.release(job.lease, behind=True)
        served.append(job.lease.job)
    return served


async def sibling(admin_dsn: str, scope: Scope) -> Scope:
    """Another workspace of the same tenant."""
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select name from tenants where id = %s", [scope.tenant]).fetchone()
    assert row is not None
    return await new_workspace(admin_dsn, str(row[0]))


async def test_slices_go_to_tenants_then_to_their_workspaces_then_by_age(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    beside, other = await sibling(admin_dsn, scope), await new_workspace(admin_dsn)
    many, few, theirs = [await uploads(ledger, owner, n) for owner, n in ((scope, 9), (beside, 1), (other, 2))]
    served = Counter(await slices(ledger, 24))
    assert sum(served[job] for job in theirs) == 12, "half of the slices, whoever has more jobs"
    assert (sum(served[job] for job in many), sum(served[job] for job in few)) == (6, 6)
    assert [served[job] for job in many] == [1] * 6 + [0] * 3, "within a workspace the oldest first"
    assert [served[job] for job in theirs] == [6, 6], "a job that had a slice goes behind those that wait"


async def test_a_workspace_that_comes_late_is_served_next_and_saves_up_nothing(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    beside = await sibling(admin_dsn, scope)
    await uploads(ledger, scope, 3)
    await slices(ledger, 20)
    (late,) = await uploads(ledger, beside, 1)
    served = await slices(ledger, 8)
    assert served[0] == late and served.count(late) == 4


async def test_a_tenant_has_its_share_of_the_places_while_another_has_work_there(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    """Four places on two cores: alone it has all but one, beside others one core, more while cores are left."""
    other = await new_workspace(admin_dsn)
    await places(ledger, 4)
    mine = await uploads(ledger, scope, 6)
    held = [await ledger.claim(f"w{n}", JobLane.SMALL) for n in range(3)]
    (theirs,) = await uploads(ledger, other, 1)
    assert (await ledger.claim("w3", JobLane.SMALL)).lease.job == theirs
    for one in held[:2]:
        await ledger.jobs.release(one.lease, behind=True)
        assert await ledger.jobs.claim("w0", JobLane.SMALL, 60) is None
    (share, behind) = await why(ledger, scope, mine[4])
    assert share[0] == "tenant_share" and "2 at work, 1 of other tenants" in share[1]
    assert behind == ("behind", f"1 job of yours comes first, job {mine[3]} just before it; {share[1].split('; ')[1]}")
    assert not any(str(one) in text for _, text in (share, behind) for one in (theirs, other.tenant, other.workspace))
    await ledger.jobs.release(held[2].lease, behind=True)
    assert (await ledger.claim("w0", JobLane.SMALL)).lease.job == mine[3], "a core that is left"
    await ledger.rows(other, "update jobs set state = 'completed' where id = %(job)s returning id", job=theirs)
    for job in (mine[4], mine[5]):
        assert (await ledger.claim("w1", JobLane.SMALL)).lease.job == job
    assert await ledger.jobs.claim("w2", JobLane.SMALL, 60) is None, "the last place is for who comes"


async def test_the_only_tenant_that_there_is_has_all_places(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("delete from tenants where id <> %s", [scope.tenant])
    await places(ledger, 4)
    mine = await uploads(ledger, scope, 5)
    assert [(await ledger.claim(f"w{n}", JobLane.SMALL)).lease.job for n in range(4)] == mine[:4]


async def test_no_worker_of_long_work_stands_still_for_who_may_come(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    await new_workspace(admin_dsn)
    for n in range(3):
        await ledger.jobs.seen(f"w{n}", JobLane.SLOW, None)
        await ledger.enqueue(scope, "upload", {"files": []}, JobLane.SLOW)
    assert len({(await ledger.claim(f"w{n}", JobLane.SLOW)).lease.job for n in range(3)}) == 3


async def at_work(ledger: Bench, scope: Scope, count: int) -> list[ClaimedJob]:
    """Jobs of a tenant that are at work, whoever was there first."""
    jobs = await uploads(ledger, scope, count)
    claimed = []
    for job in jobs:
        await ledger.rows(
            scope,
            "update jobs set state = 'running', owner = 'w', started_at = clock_timestamp(), fence = fence + 1,"
            " lease_until = clock_timestamp() + interval '1 min' where id = %(job)s returning id",
            job=job,
        )
        claimed.append(ClaimedJob(JobLease(job, scope, 1), "upload", JobLane.SMALL, False, {}, None))
    return claimed


async def beyond(ledger: Bench, *claimed: ClaimedJob) -> set[JobId]:
    shares = LaneShares(ledger.database, JobLane.SMALL, WorkBell(ledger.database, ""))
    taken = [shares.place() for _ in claimed]
    with ExitStack() as working:
        for place, job in zip(taken, claimed, strict=True):
            working.enter_context(place.working(job.lease.job))
        await shares.look()
        return {job.lease.job for place, job in zip(taken, claimed, strict=True) if place.is_beyond}


async def test_who_has_more_than_its_share_is_to_give_the_newest_back_once_another_has_work(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    other = await new_workspace(admin_dsn)
    await places(ledger, 4)
    mine = await at_work(ledger, scope, 4)
    ids = [job.lease.job for job in mine]
    assert await beyond(ledger, *mine) == set(), "alone nobody gives anything back"
    (theirs,) = await uploads(ledger, other, 1)
    assert await beyond(ledger, *mine) == set(ids[1:]), "a core each"
    assert await beyond(ledger, *mine[:2]) == {ids[1]}, "of those that are asked for"
    await ledger.rows(other, "update jobs set state = 'completed' where id = %(job)s returning id", job=theirs)
    assert await beyond(ledger, *mine) == set()


async def test_nothing_is_given_back_that_nobody_has_work_for(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    """Eight cores, and another tenant with two small uploads: six are left."""
    other = await new_workspace(admin_dsn)
    await places(ledger, 16)
    mine = await at_work(ledger, scope, 10)
    await uploads(ledger, other, 2)
    assert await beyond(ledger, *mine) == {job.lease.job for job in mine[6:]}


async def test_each_of_many_tenants_has_one_place_at_least(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    others = [await new_workspace(admin_dsn) for _ in range(5)]
    await places(ledger, 4)
    work = await at_work(ledger, scope, 2)
    for other in others:
        work += await at_work(ledger, other, 1)
    assert await beyond(ledger, *work) == {work[1].lease.job}


async def test_each_of_three_tenants_finds_a_place(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    owners = [scope, await new_workspace(admin_dsn), await new_workspace(admin_dsn)]
    await places(ledger, 4)
    for owner in owners:
        await uploads(ledger, owner, 4)
    claimed = [await ledger.jobs.claim(f"w{n}", JobLane.SMALL, 60) for n in range(4)]
    tenants = [one.lease.scope.tenant for one in claimed if one is not None]
    assert tenants == [owners[0].tenant, *(owner.tenant for owner in owners)], "the first as long as cores were left"


async def test_a_worker_that_has_died_takes_no_share(ledger: Bench, scope: Scope, admin_dsn: str) -> None:
    other = await new_workspace(admin_dsn)
    await places(ledger, 4)
    mine = await uploads(ledger, scope, 3)
    await uploads(ledger, other, 1)
    for n in range(3):
        await ledger.claim(f"w{n}", JobLane.SMALL)
    assert await ledger.jobs.claim("w3", JobLane.SMALL, 60) is None
    await ledger.rows(
        scope, "update jobs set lease_until = now() - interval '1 s' where owner is not null returning id"
    )
    assert (await ledger.claim("w3", JobLane.SMALL)).lease.job == mine[0]


async def test_a_job_that_waits_hears_what_keeps_the_workers_that_are_free(ledger: Bench, scope: Scope) -> None:
    """One is at work and well; those that are free begin nothing while memory is short."""
    await places(ledger, 1)
    await ledger.jobs.seen("w1", JobLane.SMALL, "memory_short: 95 % is in use")
    _, behind = await uploads(ledger, scope, 2)
    await ledger.claim("w0", JobLane.SMALL)
    assert await why(ledger, scope, behind) == [
        ("memory_short", "95 % is in use"),
        ("next", "it comes next and waits for a place; 1 at work"),
    ]


@pytest.mark.parametrize("tenant", [False, True])
async def test_who_is_deleted_in_the_middle_of_a_turn_ends_no_worker(
    ledger: Bench, admin_dsn: str, tenant: bool
) -> None:
    gone = await new_workspace(admin_dsn)
    await uploads(ledger, gone, 1)
    job = await ledger.claim(lane=JobLane.SMALL)
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("delete from workspaces where id = %s", [gone.workspace])
        if tenant:
            connection.execute("delete from tenants where id = %s", [gone.tenant])
    assert not await ledger.jobs.end_turn(job, SLICE)


async def test_a_claim_costs_no_more_than_a_look_at_those_that_wait(
    ledger: Bench, scope: Scope, admin_dsn: str
) -> None:
    """Ten thousand jobs of two hundred tenants, which Postgres has no statistics of yet."""
    await places(ledger, 4)
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("alter table jobs set (autovacuum_enabled = false)")
        connection.execute(
            "with t as (insert into tenants (name) select 'many ' || n from generate_series(1, 200) n returning id),"
            " w as (insert into workspaces (tenant_id, name) select id, 'w' from t returning id, tenant_id)"
            " insert into jobs (tenant_id, workspace_id, kind, lane, payload, idempotency_key, request_hash)"
            " select tenant_id, id, 'upload', 'small', '{}', n::text, 'h' from w, generate_series(1, 50) n"
        )

        def seconds(query: str) -> float:
            taken = []
            for _ in range(5):
                began = time.perf_counter()
                connection.execute(query).fetchall()
                taken.append(time.perf_counter() - began)
            return min(taken)  # the machine may be busy beside

        look = seconds("select id from jobs where lane = 'small' and state = 'queued' order by id for update")
        claim = seconds("select id from claim_job('small', 'w0', interval '60 s')")
        stand = seconds("select count(*) from lane_standing('small')")
    assert claim < 8 * look and stand < 8 * look
