"""Classes of documents: by the rules, for every version, and by hand; a sweep that is stopped loses nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from cluster.basics.scope import Role
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.privacy.answer_masks import AnswerMask
from pipelines.documents.privacy.answer_rules import AnswerRule
from pipelines.documents.privacy.document_classes import DocumentClasses, UnknownClass
from serve_apps.governance.classification import EVERY, ClassificationProcess
from serve_apps.retrieval.search.pipeline import SearchPipeline
from tests.fakes.corpus import Book, Passage, Sheet, load, open_generation
from tests.fakes.http import Api, Clock, Office, make_parts, open_office, serve
from tests.fakes.models import FakeEmbedder

TEXTS = {
    "plain.txt": "Nothing stands here.",
    "words.txt": "This page is confidential.",
    "card.txt": "Charge 4111 1111 1111 1111 for it.",
    "secret.txt": "Strictly confidential: it concerns nobody else.",
}
WANTED = {"plain.txt": None, "words.txt": "confidential", "card.txt": "restricted", "secret.txt": "restricted"}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def classes(api: Api) -> DocumentClasses:
    return api.parts.governance.classes


def fill(admin_dsn: str, office: Office, texts: dict[str, str], **more: str) -> list[str]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        generation = open_generation(connection, office.scope)
        books = [Book(name, [Passage(text)], sheets=[Sheet(text)], **more) for name, text in texts.items()]  # type: ignore[arg-type]
        return load(connection, office.scope, generation, books)


def found(admin_dsn: str) -> dict[str, str | None]:
    with psycopg.connect(admin_dsn) as connection:
        return dict(connection.execute("select filename, classification from documents").fetchall())


async def test_rules_decide_by_words_and_finds_and_once(
    classes: DocumentClasses, office: Office, admin_dsn: str
) -> None:
    fill(admin_dsn, office, TEXTS)
    assert await classes.left(office.scope) == len(TEXTS)
    assert await classes.sweep(office.scope) == len(TEXTS)
    assert found(admin_dsn) == WANTED
    assert await classes.sweep(office.scope) == 0 and await classes.left(office.scope) == 0
    with psycopg.connect(admin_dsn) as connection:  # what readers see is another version by now
        connection.execute("update documents set classified_with = 'other' where filename = 'plain.txt'")
    assert await classes.sweep(office.scope) == 1


async def test_a_sweep_that_is_stopped_goes_on_with_what_is_left(
    classes: DocumentClasses, office: Office, admin_dsn: str
) -> None:
    many = {f"{number}.txt": "This is confidential." for number in range(60)}
    fill(admin_dsn, office, many)
    sweep = asyncio.create_task(classes.sweep(office.scope))
    await asyncio.sleep(0.15)
    sweep.cancel()
    await asyncio.wait([sweep])
    left = await classes.left(office.scope)
    assert await classes.sweep(office.scope) == left
    assert set(found(admin_dsn).values()) == {"confidential"} and await classes.left(office.scope) == 0


async def test_the_highest_counts_and_a_hands_word_stays(
    classes: DocumentClasses, office: Office, admin_dsn: str, api: Api
) -> None:
    ids = dict(zip(TEXTS, fill(admin_dsn, office, TEXTS), strict=True))
    await classes.sweep(office.scope)
    async with api.parts.database.transaction(office.scope) as tx:
        assert await classes.highest(tx, office.scope, [*ids.values()]) == "restricted"
        assert await classes.highest(tx, office.scope, [ids["plain.txt"], ids["words.txt"]]) == "confidential"
        assert await classes.highest(tx, office.scope, [ids["plain.txt"]]) is None
        assert await classes.set(tx, office.scope, ids["secret.txt"], "public") == "restricted"
        with pytest.raises(UnknownClass):
            await classes.set(tx, office.scope, ids["secret.txt"], "no such class")
    assert await classes.sweep(office.scope) == 0 and found(admin_dsn)["secret.txt"] == "public"


async def test_another_tenants_documents_are_not_touched(
    classes: DocumentClasses, office: Office, admin_dsn: str, api: Api
) -> None:
    stranger = open_office(admin_dsn)
    (theirs,) = fill(admin_dsn, stranger, {"theirs.txt": "It is confidential."})
    await classes.sweep(office.scope)
    assert found(admin_dsn) == {"theirs.txt": None}
    async with api.parts.database.transaction(office.scope) as tx:
        assert await classes.highest(tx, office.scope, [theirs]) is None
    clock = Clock()
    process, taken = ClassificationProcess(classes, clock), list[str | None]()
    while (tenant := await process.turn()) is not None:
        taken.append(tenant)
    assert stranger.scope.tenant in taken and len(set(taken)) == len(taken)
    assert found(admin_dsn) == {"theirs.txt": "confidential"}
    clock.now += EVERY
    assert await process.turn() is not None


async def test_what_was_looked_at_before_is_unknown_until_the_next_look(
    classes: DocumentClasses, office: Office, admin_dsn: str, api: Api
) -> None:
    """Another version, and other rules: both may be of any class; what a hand has decided stays."""
    names = list(TEXTS)
    ids = dict(zip(names, fill(admin_dsn, office, TEXTS), strict=True))
    search = SearchPipeline(
        api.parts.database, FakeEmbedder(), None, SearchSettings(), RerankSettings(), class_rules=classes.rules
    )
    with psycopg.connect(admin_dsn) as connection:
        chunks = [row[0] for row in connection.execute("select id from document_chunks").fetchall()]

    async def seen() -> dict[str, str | None]:
        return {hit.filename: hit.classification for hit in await search.load_hits(office.scope, chunks)}

    assert await seen() == dict.fromkeys(TEXTS, "?")
    await classes.sweep(office.scope)
    assert await seen() == WANTED
    async with api.parts.database.transaction(office.scope) as tx:
        await classes.set(tx, office.scope, ids["plain.txt"], "public")
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        of_another = "update documents set classified_with = left(classified_with, 17) || 'v0' where filename = %s"
        connection.execute(of_another, ["words.txt"])
    assert await seen() == {**WANTED, "words.txt": "?", "plain.txt": "public"}
    admin = await api.sign_in(office.emails[Role.ADMIN])
    body = {"classes": [{"name": "partners", "rank": 1, "keywords": ["nothing such"]}]}
    of_corpus = "select corpus_version from workspaces where id = %s"
    with psycopg.connect(admin_dsn) as connection:
        before = connection.execute(of_corpus, [office.scope.workspace]).fetchone()
    made = await admin.post("/api/data-governance/policies", json={"name": "More", "body": body, "tenant_wide": False})
    assert made.status_code == 201, made.text
    with psycopg.connect(admin_dsn) as connection:
        after = connection.execute(of_corpus, [office.scope.workspace]).fetchone()
    assert before and after and after[0] > before[0], "what is remembered of searches says of which class documents are"
    assert await seen() == {**dict.fromkeys(TEXTS, "?"), "plain.txt": "public"}
    await classes.sweep(office.scope)
    assert await seen() == {**WANTED, "plain.txt": "public"}


async def test_a_batch_is_one_change_and_nothing_is_looked_for_without_one(
    classes: DocumentClasses, office: Office, admin_dsn: str
) -> None:
    def corpus(more: int = 0) -> int:
        with psycopg.connect(admin_dsn, autocommit=True) as connection:
            named = [more, office.scope.workspace]
            connection.execute("update workspaces set corpus_version = corpus_version + %s where id = %s", named)
            row = connection.execute("select corpus_version from workspaces where id = %s", named[1:]).fetchone()
            assert row is not None
            return int(row[0])

    fill(admin_dsn, office, TEXTS)
    before, tenant = corpus(), office.scope.tenant
    assert await classes.sweep_tenant(tenant) == len(TEXTS) and corpus() == before + 1
    assert await classes.sweep_tenant(tenant) == 0, "it has changed the corpus itself"
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        connection.execute("update documents set classified_with = 'other'")
    assert await classes.sweep_tenant(tenant) == 0, "nothing has changed that anybody told"
    corpus(1)
    assert await classes.sweep_tenant(tenant) == len(TEXTS)


def test_what_nobody_has_looked_at_is_taken_for_the_strictest() -> None:
    mask = AnswerMask([AnswerRule("mask", classes=("restricted",))])
    assert mask.of_source("public").text("a.b@example.org") == "a.b@example.org"
    assert mask.of_source("?").text("a.b@example.org") == "[email]"
