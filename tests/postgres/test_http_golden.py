"""Golden sets over HTTP: filled, run, compared; a run in which a part did not run has failed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role, Scope, UserId
from configs.sections_retrieval import RerankSettings, SearchSettings
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.answers.quote import Citation
from serve_apps.retrieval.golden.golden_runs import GoldenRunLease, GoldenRuns
from serve_apps.retrieval.golden.measure import GoldenExaminer, GoldenRunOptions
from serve_apps.retrieval.golden.question_form import GoldenQuestion
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.models import FakeEmbedder, FakeReranker

YAML = """
- {key: end, question: "When does the lease end?", documents: [lease.txt], answers: [in May], passages: [ends in May]}
- {key: rent, question: "How high is the rent?", documents: [rent.txt], answer: 700 euros}
- {key: moon, question: "Who owns the moon?", unanswerable: true}
"""
TEXTS = {
    "lease.txt": "The lease ends in May.",
    "rent.txt": "The rent is 700 euros a month.",
    "secret.txt": "When does the lease end, the rent, the moon?",
}


@dataclass
class QuotingAnswerer:
    """Answers with the first hit whole, cited; `wrong` cites what does not stand there, `permits` holds answers."""

    search: SearchPipeline
    wrong: bool = False
    fallback: str | None = None
    failing: list[Exception] = field(default_factory=list)
    permits: asyncio.Semaphore | None = None
    asked: list[str] = field(default_factory=list)

    async def ask(self, scope: Scope, question: str, agent_id: str | None) -> CitedAnswer:
        self.asked.append(question)
        if self.permits is not None:
            await self.permits.acquire()
        if self.failing:
            raise self.failing.pop()
        found = await self.search.run(scope, SearchQuery(question))
        if "moon" in question or not found.hits:
            return CitedAnswer("Not found in the documents.", "not_found", (), found, None, self.fallback)
        hit = found.hits[0]
        start = 1 if self.wrong else 0
        cited = Citation(
            1, hit.chunk_id, hit.document_id, hit.version_id, hit.filename, 1, hit.text, start, len(hit.text), (), None
        )
        return CitedAnswer(f"{hit.text} [1]", "extractive", (cited,), found, None, self.fallback)


class Asleep(GoldenRuns):
    """Those of a process that does not get round to its heartbeat."""

    async def heartbeat(self, lease: GoldenRunLease, lease_seconds: float) -> bool:
        await asyncio.Event().wait()
        return False


@dataclass
class Place:
    """The API over a real search, with what is scripted."""

    api: Api
    answerer: QuotingAnswerer
    embedder: FakeEmbedder
    operator: httpx.AsyncClient
    generation: int
    scope: Scope

    async def filled(self, name: str = "leases") -> str:
        made = await self.operator.post("/api/golden-sets", json={"name": name})
        assert made.status_code == 201, made.text
        path = f"/api/golden-sets/{made.json()['id']}"
        sent = await self.operator.post(f"{path}/import", json={"text": YAML})
        assert sent.status_code == 201 and sent.json()["questions"] == 3, sent.text
        return path

    async def run(self, path: str, **body: Any) -> dict[str, Any]:
        begun = await self.operator.post(f"{path}/runs", json=body)
        assert begun.status_code == 202, begun.text
        return await self.ended(begun.json()["id"])

    def runs(self, made: type[GoldenRuns] = GoldenRuns, lease: float = 0.6) -> GoldenRuns:
        """Those of another process."""
        parts = self.api.parts
        examiner = GoldenExaminer(self.answerer.search, self.answerer, parts.database)
        return made(parts.database, parts.golden, examiner, {"search": {"k": 1}}, lease=lease, beat=0.1)

    async def begin(self, runs: GoldenRuns) -> str:
        """A run that another process began for the operator."""
        set_id = (await self.filled()).rpartition("/")[2]
        return await runs.begin(self.scope, set_id, GoldenRunOptions())

    async def asked_one(self, run: str) -> None:
        await self.until(run, lambda shown: shown["done"] == 1)

    async def dies_after_one(self) -> str:
        """A run whose process was killed after its first question: it neither finishes nor gives anything back."""
        dying, self.answerer.permits = self.runs(), asyncio.Semaphore(1)
        begun = await self.begin(dying)
        await self.asked_one(begun)
        for task in dying._sweep.carried.values():
            task.cancel()
        await dying.settled(begun)
        self.answerer.permits, self.answerer.asked = None, []
        return begun

    @asynccontextmanager
    async def looking(self, runs: GoldenRuns | None = None) -> AsyncIterator[None]:
        """Another process looks for runs whose process is gone."""
        runs = runs or self.runs()
        await runs.open()
        try:
            yield
        finally:
            await runs.close()

    async def until(self, run: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for _ in range(1000):
            shown: dict[str, Any] = (await self.operator.get(f"/api/golden-runs/{run}")).json()
            if wanted(shown):
                return shown
            await asyncio.sleep(0.02)
        raise AssertionError(shown)

    async def completed(self, run: str) -> dict[str, Any]:
        return await self.until(run, lambda shown: bool(shown["state"] == "completed"))

    async def ended(self, run: str) -> dict[str, Any]:
        await self.api.parts.golden_runs.settled(run)
        shown: dict[str, Any] = (await self.operator.get(f"/api/golden-runs/{run}")).json()
        return shown


@pytest.fixture
async def place(app_dsn: str, admin_dsn: str, office: Office, tmp_path: Path) -> AsyncIterator[Place]:
    (tmp_path / "scans").mkdir()
    parts, embedder = make_parts(app_dsn, tmp_path), FakeEmbedder()
    search = SearchPipeline(parts.database, embedder, None, SearchSettings(), RerankSettings())
    answerer = QuotingAnswerer(search)
    examiner = GoldenExaminer(search, answerer, parts.database)
    runs = GoldenRuns(parts.database, parts.golden, examiner, {"search": {"k": 1}}, lease=0.6, beat=0.1)
    with psycopg.connect(admin_dsn) as connection:
        generation = open_generation(connection, office.scope)
        books = [
            Book(name, [Passage(text, vector=hash_vector(text))], readers=("user:x@y.org",) if "secret" in name else ())
            for name, text in TEXTS.items()
        ]
        load(connection, office.scope, generation, books)
    async with serve(replace(parts, search=search, answerer=answerer, golden_runs=runs)) as api:
        email = office.emails[Role.OPERATOR]
        operator = await api.sign_in(email)
        with psycopg.connect(admin_dsn) as connection:
            found = connection.execute("select id from users where email = %s", (email,)).fetchone()
        assert found is not None
        principals = (f"user:{email}", "role:operator")
        scope = replace(office.scope, principals=principals, user=UserId(str(found[0])), role=Role.OPERATOR)
        yield Place(api, answerer, embedder, operator, generation, scope)
        await runs.close()


async def test_a_set_is_filled_changed_exported_and_removed(place: Place, office: Office) -> None:
    """Each question by its key; a file is taken whole or not at all; the trail says who did it."""
    path = await place.filled()
    shown = (await place.operator.get(path)).json()
    assert (shown["name"], shown["questions"], shown["gate"]) == ("leases", 3, False)
    one = {"question": "When does it begin?", "documents": ["lease.txt"], "key": "begin"}
    assert (await place.operator.post(f"{path}/questions", json=one)).json()["questions"] == 4
    assert (await place.operator.post(f"{path}/questions", json=one | {"answers": ["June"]})).json()["questions"] == 4
    nothing = await place.operator.post(f"{path}/questions", json={"question": "Why?"})
    assert nothing.status_code == 422 and "give documents" in nothing.text
    broken = await place.operator.post(f"{path}/import", json={"text": YAML + "- {question: Q}", "replace": True})
    assert broken.status_code == 422 and "entry 4" in broken.text
    listed = (await place.operator.get(f"{path}/questions")).json()
    assert [row["key"] for row in listed["items"]] == ["end", "rent", "moon", "begin"]
    text = (await place.operator.get(f"{path}/export", params={"format": "jsonl"})).text
    body = {"text": text, "format": "jsonl", "replace": True}
    assert (await place.operator.delete(f"{path}/questions/begin")).status_code == 204
    assert (await place.operator.post(f"{path}/import", json=body)).json()["questions"] == 4
    taken = await place.operator.post("/api/golden-sets", json={"name": "leases"})
    assert taken.status_code == 409
    changed = await place.operator.patch(path, json={"gate": True, "least_recall": 0.8})
    assert (changed.json()["gate"], changed.json()["least_recall"]) == (True, 0.8)
    least = await place.operator.patch(path, json={"least_recall": 5e-324})
    assert least.json()["least_recall"] == 5e-324, "the smallest number of JSON is stored too"
    assert (await place.operator.delete(path)).status_code == 204
    assert (await place.operator.get(path)).status_code == 404
    admin = await place.api.sign_in(office.emails[Role.ADMIN])
    actions = [row["action"] for row in (await admin.get("/api/audit")).json()["items"]]
    assert {"golden_set.add", "golden_set.fill", "golden_set.change", "golden_set.remove"} <= set(actions)


async def test_a_run_measures_search_and_answers(place: Place) -> None:
    shown = await place.run(await place.filled())
    figures = {name: value["mean"] for name, value in shown["figures"].items() if "mean" in value}
    assert (shown["state"], shown["done"], shown["failures"]) == ("completed", 3, [])
    assert shown["generation_id"] == place.generation and shown["settings"]["search"] == {"k": 1}
    assert shown["settings"]["embedder"]["name"] == "fake" and len(shown["fingerprint"]) == 16
    for measure in (
        "recall@10",
        "passage_recall@10",
        "answer_contained",
        "citations_valid",
        "answered_when_answerable",
        "abstained_when_unanswerable",
    ):
        assert figures[measure] == 1, measure
    assert 0 < figures["answer_f1"] < 1
    assert shown["figures"]["recall@10"]["n"] == 2 and shown["figures"]["search_ms"]["n"] == 3
    results = (await place.operator.get(f"/api/golden-runs/{shown['id']}/results")).json()["items"]
    assert [row["key"] for row in results] == ["end", "rent", "moon"]
    assert "lease.txt" in results[0]["retrieved"] and results[0]["answer"].startswith("The lease ends")
    only = await place.run(f"/api/golden-sets/{shown['set_id']}", answers=False, concurrency=3)
    assert only["state"] == "completed" and "answer_f1" not in only["figures"]


async def test_a_citation_that_does_not_stand_there_is_not_valid(place: Place) -> None:
    place.answerer.wrong = True
    shown = await place.run(await place.filled())
    assert shown["figures"]["citations_valid"]["mean"] == 0


async def test_a_run_in_which_a_part_did_not_run_has_failed_and_says_which(place: Place) -> None:
    """A fallback in any answer, an embedder that is away, an error: each is named with its number of questions."""
    path = await place.filled()
    place.answerer.fallback = "extractive, the model did not answer"
    shown = await place.run(path)
    assert shown["state"] == "failed"
    assert shown["failures"] == [{"what": "answer: extractive, the model did not answer", "questions": 3}]
    place.answerer.fallback, place.embedder.failing = None, Unavailable("the embedder is away")
    shown = await place.run(path, answers=False)
    assert shown["state"] == "failed" and "the embedder is away" in shown["failures"][0]["what"]
    place.embedder.failing, place.answerer.failing = None, [Unavailable("gone")]
    shown = await place.run(path)
    assert shown["state"] == "failed" and shown["failures"] == [{"what": "answer: unavailable: gone", "questions": 1}]
    assert (await place.operator.post(f"/api/golden-runs/{shown['id']}/resume")).status_code == 202
    again = await place.ended(shown["id"])
    assert (again["state"], again["done"], again["failures"]) == ("completed", 3, [])


async def test_a_run_whose_process_died_is_interrupted_and_goes_on_with_what_is_left(place: Place) -> None:
    begun = await place.dies_after_one()
    assert (await place.operator.post(f"/api/golden-runs/{begun}/resume")).status_code == 409  # its lease still holds
    await asyncio.sleep(0.7)
    assert (await place.operator.get(f"/api/golden-runs/{begun}")).json()["state"] == "interrupted"
    assert (await place.operator.post(f"/api/golden-runs/{begun}/resume")).status_code == 202
    assert (await place.ended(begun))["state"] == "completed" and len(place.answerer.asked) == 2


async def test_a_run_whose_process_was_killed_goes_on_by_itself_and_no_question_counts_twice(
    place: Place, office: Office
) -> None:
    """Whoever looks next takes it up, once its lease has run out, with the rights of whoever began it."""
    begun = await place.dies_after_one()
    async with place.looking(), place.looking():
        shown = await place.completed(begun)
    assert (shown["state"], shown["done"], shown["failures"]) == ("completed", 3, [])
    assert shown["figures"]["search_ms"]["n"] == 3 and len(place.answerer.asked) == 2
    results = (await place.operator.get(f"/api/golden-runs/{begun}/results")).json()["items"]
    assert [row["key"] for row in results] == ["end", "rent", "moon"]
    assert all("secret.txt" not in row["retrieved"] for row in results)


async def test_a_process_that_stops_gives_its_runs_back_at_once(place: Place) -> None:
    """Nobody waits for the lease, however long it is; a question that was begun is asked again."""
    patient = place.runs(lease=600)
    async with place.looking(patient):
        place.answerer.permits = asyncio.Semaphore(1)
        begun = await place.begin(patient)
        await place.asked_one(begun)
    assert (await place.operator.get(f"/api/golden-runs/{begun}")).json()["state"] == "interrupted"
    place.answerer.permits, place.answerer.asked = None, []
    async with place.looking():
        shown = await place.completed(begun)
    assert (shown["done"], len(place.answerer.asked)) == (3, 2)


async def test_a_process_that_wakes_late_writes_nothing(place: Place, admin_dsn: str) -> None:
    """Another one has gone on with the run meanwhile: what the first one brings is refused."""
    asleep = place.runs(Asleep)
    place.answerer.permits = asyncio.Semaphore(0)
    begun = await place.begin(asleep)
    while not place.answerer.asked:  # noqa: ASYNC110 - it is asked in this process
        await asyncio.sleep(0.01)
    sleeper, place.answerer.permits = place.answerer.permits, None
    async with place.looking():
        first = await place.completed(begun)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update golden_results set answer = 'of the second' where run_id = %s", (begun,))
    sleeper.release()
    await asleep.settled(begun)
    assert await place.completed(begun) == first
    with psycopg.connect(admin_dsn) as connection:
        rows = connection.execute("select distinct answer from golden_results where run_id = %s", (begun,)).fetchall()
    assert rows == [("of the second",)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("update users set disabled = true", "no longer the rights"),
        ("update memberships set role = 'developer' where role = 'operator'", "no longer the rights"),
        ("update golden_runs set fingerprint = 'another'", "the settings are others"),
        ("update golden_runs set lapses = 8", "its process ended 8 times"),
    ],
)
async def test_a_run_that_cannot_go_on_by_itself_fails_and_says_why(
    place: Place, office: Office, admin_dsn: str, change: str, why: str
) -> None:
    begun = await place.dies_after_one()
    with psycopg.connect(admin_dsn) as connection:
        assert connection.execute(change).rowcount  # type: ignore[arg-type]
    async with place.looking():
        for _ in range(500):
            with psycopg.connect(admin_dsn) as connection:
                found = connection.execute("select state, failures from golden_runs where id = %s", (begun,)).fetchone()
            if found and found[0] != "running":
                break
            await asyncio.sleep(0.02)
    assert found is not None and found[0] == "failed"
    assert why in found[1][0]["what"] and found[1][0]["questions"] == 2 and place.answerer.asked == []


async def test_engines_that_changed_while_a_run_was_interrupted_fail_it(place: Place, admin_dsn: str) -> None:
    """It counted only those that it met after it was resumed, and was complete."""
    path = await place.filled()
    place.answerer.failing = [Unavailable("gone")]
    begun = (await place.run(path))["id"]
    with psycopg.connect(admin_dsn) as connection:  # as if the index over words had been made only now
        asked = "update golden_results set engines = engines || '{\"keyword\": \"full_text\"}' where failures = '{}'"
        assert connection.execute(asked).rowcount == 2
    assert (await place.operator.post(f"/api/golden-runs/{begun}/resume")).status_code == 202
    shown = await place.ended(begun)
    (why,) = shown["failures"]
    assert shown["state"] == "failed" and why["what"].startswith("keyword: not the same for all questions")


def acts(admin_dsn: str, run: str) -> list[str]:
    query = "select action from audit where object = %s and detail ->> 'set' is not null order by seq"
    with psycopg.connect(admin_dsn) as connection:
        return [str(action) for (action,) in connection.execute(query, (run,)).fetchall()]


async def test_a_run_can_be_cancelled_and_there_is_room_for_two(place: Place, admin_dsn: str) -> None:
    """Who cancelled it and who had it go on is in the audit trail."""
    path = await place.filled()
    place.answerer.permits = asyncio.Semaphore(0)
    first = (await place.operator.post(f"{path}/runs", json={})).json()["id"]
    await place.operator.post(f"{path}/runs", json={})
    assert (await place.operator.post(f"{path}/runs", json={})).status_code == 429
    cancelled = await place.operator.post(f"/api/golden-runs/{first}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    place.answerer.permits.release()
    assert (await place.ended(first))["state"] == "cancelled"
    assert (await place.operator.post(f"/api/golden-runs/{first}/cancel")).status_code == 409
    assert acts(admin_dsn, first) == ["golden_run.begin", "golden_run.cancel"]
    place.answerer.permits = None
    assert (await place.operator.post(f"/api/golden-runs/{first}/resume")).status_code == 202
    assert acts(admin_dsn, first)[-1] == "golden_run.resume"


async def test_two_runs_are_compared_over_their_questions(place: Place) -> None:
    path = await place.filled()
    before = await place.run(path)
    place.answerer.wrong = True
    after = await place.run(path)
    url = f"/api/golden-runs/{after['id']}/compare/{before['id']}"
    told = (await place.operator.get(url, params={"measure": "citations_valid"})).json()
    (valid,) = [row for row in told["differences"] if row["measure"] == "citations_valid"]
    assert (valid["n"], valid["delta"], valid["worse"]) == (2, -1.0, 2)
    assert {row["key"] for row in told["changed"]} == {"end", "rent"} and told["settings_changed"] == []
    assert [row["delta"] for row in told["differences"] if row["measure"] == "recall@10"] == [0]


async def test_a_generation_that_is_not_live_can_be_measured_without_answers(
    place: Place, office: Office, admin_dsn: str
) -> None:
    path = await place.filled()
    assert (await place.operator.post(f"{path}/runs", json={"generation": 99})).status_code == 409
    both = {"generation": place.generation, "answers": True}
    assert (await place.operator.post(f"{path}/runs", json=both)).status_code == 422
    with psycopg.connect(admin_dsn) as connection:
        other = open_generation(connection, chunker="other")
        statement = "update workspaces set previous_generation_id = %s where id = %s"
        connection.execute(statement, (other, office.scope.workspace))
    shown = await place.run(path, generation=other)
    assert shown["generation_id"] == other and shown["figures"]["recall@10"]["mean"] == 0


async def test_a_run_sees_what_its_person_sees_and_answers_are_for_who_asked(
    place: Place, office: Office, admin_dsn: str
) -> None:
    """MT-01: documents for others are not found, their names are shown to nobody else; another tenant finds nothing."""
    path = await place.filled()
    shown = await place.run(path)
    rows = (await place.operator.get(f"/api/golden-runs/{shown['id']}/results")).json()["items"]
    assert all("secret.txt" not in row["retrieved"] for row in rows)
    with psycopg.connect(admin_dsn) as connection:
        connection.execute("update golden_runs set created_by = gen_random_uuid()")
        connection.execute("update documents set readers = '{user:x@y.org}' where filename = 'lease.txt'")
    rows = (await place.operator.get(f"/api/golden-runs/{shown['id']}/results")).json()["items"]
    assert rows[0]["answer"] is None and "lease.txt" not in rows[0]["retrieved"]
    assert (await place.operator.post(f"/api/golden-runs/{shown['id']}/resume")).status_code == 409
    viewer = await place.api.sign_in(office.emails[Role.VIEWER])
    developer = await place.api.sign_in(office.emails[Role.DEVELOPER])
    assert (await viewer.get("/api/golden-sets")).status_code == 403
    assert (await developer.get(f"{path}/questions")).status_code == 403
    saved = {"question": "When?", "documents": ["lease.txt"]}
    assert (await developer.post(f"{path}/questions", json=saved)).status_code == 201
    stranger = await place.api.sign_in(open_office(admin_dsn, "elsewhere").emails[Role.ADMIN])
    for method, url in (
        ("GET", path),
        ("DELETE", path),
        ("GET", f"{path}/questions"),
        ("GET", f"{path}/export"),
        ("GET", f"{path}/runs"),
        ("POST", f"{path}/runs"),
        ("DELETE", f"{path}/questions/end"),
        ("GET", f"/api/golden-runs/{shown['id']}"),
        ("GET", f"/api/golden-runs/{shown['id']}/results"),
        ("POST", f"/api/golden-runs/{shown['id']}/resume"),
        ("GET", f"/api/golden-runs/{shown['id']}/compare/{shown['id']}"),
    ):
        answer = await stranger.request(method, url, json={} if method == "POST" else None)
        assert answer.status_code == 404, f"{method} {url}: {answer.text}"
    assert (await stranger.get("/api/golden-sets")).json()["items"] == []


async def test_a_judge_of_relevance_that_is_away_is_a_part_that_did_not_run(place: Place, office: Office) -> None:
    """One that nobody configured is none."""
    database, asked = place.api.parts.database, GoldenQuestion("end", "When does the lease end?", ("lease.txt",))
    silent = FakeReranker(Unavailable("the cross-encoder is away"))
    judged = SearchPipeline(database, place.embedder, silent, SearchSettings(), RerankSettings())
    for search, away in ((judged, True), (place.answerer.search, False)):
        outcome = await GoldenExaminer(search, place.answerer, database).ask(
            office.scope, asked, GoldenRunOptions(answers=False)
        )
        assert outcome.measured["recall@10"] == 1
        assert any("the cross-encoder is away" in one for one in outcome.failures) == away
        assert bool(outcome.failures) == away
