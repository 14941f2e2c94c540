"""The academy over HTTP: enrol, ingest, self-quiz, graduate; by the bootstrap script, by hand, and every night."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.basics.archive import FileBundle, pack_zip
from cluster.state.audit import AuditLog
from cluster.state.identity.identity import IdentityStore
from cluster.state.work.schedules import Action
from cluster.state.work.schedules_due import DueSchedules
from serve_apps.agents.schedules.nightly_examination import NightlyExamination
from serve_apps.agents.schedules.scheduler import Scheduler
from skills.quiz import quiz_of
from skills.quiz_skill import quiz_skill
from tests.fakes.campus import Campus, open_campus
from tests.fakes.schedules import QUICK

INCIDENTS = "# Incidents\n\nThe engineer on call acknowledges a severity 1 incident within 15 minutes.\n"
BACKUPS = "# Backups\n\nA restore of the ledger database is rehearsed every 90 days.\n"
SKILL = "---\nname: infra-agent\ndescription: Knows how the platform is run.\n---\nYou run the platform.\n"
QUIZ = {
    "questions": [
        {
            "question": "Within how many minutes is a severity 1 incident acknowledged?",
            "facts": ["15 minutes", ["engineer on call", "on-call engineer"]],
            "source": "references/incidents.md",
        },
        {
            "question": "How often is a restore of the ledger database rehearsed?",
            "facts": ["90 days"],
            "source": "references/backups.md",
        },
    ]
}
CURL = {"Content-Type": "application/x-www-form-urlencoded"}  # what `curl -d` says where nobody says otherwise


@pytest.fixture
async def campus(app_dsn: str, admin_dsn: str, tmp_path: Path) -> AsyncIterator[Campus]:
    async with open_campus(app_dsn, admin_dsn, tmp_path) as made:
        yield made


async def test_ac_03_the_bootstrap_script_works_as_given(campus: Campus) -> None:
    """AC-03: its four calls with their paths, their payloads and the headers that curl sends."""
    files = {"SKILL.md": SKILL, "references/incidents.md": INCIDENTS, "references/backups.md": BACKUPS}
    package = pack_zip(FileBundle("infra-agent", {name: text.encode() for name, text in files.items()}))
    first = await campus.client.post(f"{campus.path}/import-skill-pack", files={"file": ("infra-agent.skill", package)})
    assert first.status_code == 202, first.text
    await campus.work()
    second = await campus.client.post("/api/documents/embed-pending", params={"agent_id": campus.agent})
    assert second.status_code == 202, second.text
    await campus.work()
    quiz = quiz_skill(quiz_of({"track": "infrastructure", **QUIZ}), 0.8)
    third = await campus.client.post(f"{campus.path}/skills:create_and_attach", json=quiz)
    assert third.status_code == 200, third.text
    assert third.json()["tried"] == "sample" and third.json()["sample_result"]["score"] == 0
    fourth = await campus.client.patch(campus.path, content='{"metadata":{"academy_status":"graduated"}}', headers=CURL)
    assert fourth.status_code == 200, fourth.text
    assert await campus.status() == "graduated"
    shown = (await campus.client.get(f"{campus.path}/academy")).json()
    assert (shown["status"], shown["track"], shown["report"]) == ("graduated", None, None)


async def test_ac_01_an_agent_enrols_reads_is_examined_and_graduates(campus: Campus) -> None:
    """AC-01, AC-04: without a model; a quiz before its references are read is refused."""
    await campus.scan(incidents=INCIDENTS, backups=BACKUPS)
    assert (await campus.client.post(f"{campus.path}/academy/quiz")).json()["code"] == "not_enrolled"
    enrolled = await campus.enrol(quiz=QUIZ)
    assert enrolled.status_code == 202 and enrolled.json()["status"] == "studying" == await campus.status()
    early = await campus.client.post(f"{campus.path}/academy/quiz")
    assert (early.status_code, early.json()["code"]) == (409, "academy_still_reading")
    await campus.work()
    told = await campus.client.post(f"{campus.path}/academy/quiz")
    assert told.status_code == 200, told.text
    report = told.json()["report"]
    assert (report["score"], report["passed"], report["status"]) == (1.0, True, "graduated")
    first = report["questions"][0]
    assert first["mode"] == "extractive" and {one["file"] for one in first["cited"]} == {"incidents.md"}
    assert await campus.status() == "graduated"
    assert (await campus.client.get(f"/api/agents/{campus.agent}/academy")).json() == told.json()


async def test_ac_04_who_fails_is_told_what_was_missed_and_why(campus: Campus) -> None:
    """AC-04: below the mark nobody graduates; a higher mark of the quiz's own holds."""
    await campus.scan(incidents=INCIDENTS)
    await campus.enrol(quiz=QUIZ)
    await campus.work()
    report = (await campus.client.post(f"{campus.path}/academy/quiz")).json()["report"]
    assert report["score"] == pytest.approx(2 / 3) and not report["passed"] and await campus.status() == "studying"
    assert report["questions"][1]["missed"] == [{"fact": "90 days", "why": "not_retrieved"}]
    for mark in (0.6, 5e-324):  # also the smallest number of JSON
        await campus.enrol(quiz={**QUIZ, "pass_mark": mark})
        await campus.work()
        assert (await campus.client.post(f"{campus.path}/academy/quiz")).json()["report"]["passed"]


async def test_ac_02_integration_brings_its_own_quiz(campus: Campus) -> None:
    """AC-02: no quiz ships for it; with documents and a quiz of one's own it is a track like the others."""
    without = await campus.client.post(f"{campus.path}/academy/enrol", json={"track": "integration"})
    assert without.status_code == 404 and await campus.status() is None
    listed = (await campus.client.get("/api/academy/tracks")).json()["items"]
    assert len(listed) == 5 and {"track": "integration", "questions": None, "sources": []} in listed
    wrong = await campus.enrol("integration", {"questions": [{"question": "q", "facts": [], "source": "s"}]})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "bad_quiz")
    assert (await campus.enrol("integration", QUIZ)).status_code == 202
    await campus.work()
    nothing = await campus.client.post(f"{campus.path}/academy/quiz")
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_to_study")


async def test_ac_05_a_nightly_run_reads_changes_and_demotes_and_graduates_again(campus: Campus) -> None:
    """AC-05: a schedule with the action academy; a changed file is read again before the agent is examined."""
    await campus.scan(incidents=INCIDENTS, backups=BACKUPS)
    await campus.enrol(quiz=QUIZ)
    await campus.work()
    assert (await campus.client.post(f"{campus.path}/academy/quiz")).json()["status"] == "graduated"
    body = {"name": "nightly", "agent": "runner", "cron": "0 2 * * *", "action": "academy"}
    job = f"/api/scheduler/jobs/{(await campus.client.post('/api/scheduler/jobs', json=body)).json()['id']}"
    parts = campus.api.parts
    nightly = Scheduler(
        DueSchedules(parts.database),
        IdentityStore(parts.database),
        AuditLog(parts.database),
        {Action.ACADEMY: NightlyExamination(parts.school)},
        QUICK,
        owner="night",
    )
    stop = asyncio.Event()
    sweeping = asyncio.create_task(nightly.sweep(stop))
    try:
        for number, (text, status) in enumerate(
            [(BACKUPS.replace("90", "365"), "demoted"), (BACKUPS, "graduated")], start=1
        ):
            (campus.scans / "backups.md").write_text(text)
            assert (await campus.client.post(f"{job}/run")).status_code == 202
            async with asyncio.timeout(30):
                while True:
                    await campus.work()
                    runs = (await campus.client.get(f"{job}/runs")).json()["items"]
                    if len(runs) == number and runs[0]["status"] != "running":
                        break
                    await asyncio.sleep(0.1)
            assert runs[0]["status"] == "completed" and runs[0]["job_id"], runs
            assert await campus.status() == status
    finally:
        stop.set()
        await sweeping
    missed = [
        one["missed"] for one in (await campus.client.get(f"{campus.path}/academy")).json()["report"]["questions"]
    ]
    assert missed == [[], []]
