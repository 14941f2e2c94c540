"""The keyword leg beyond plain words: identifiers, quoted phrases, languages, and what typesetters do to text."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.scope import EVERY_READER, Role, Scope
from cluster.state.db.migrate import FOLDER
from cluster.state.db.postgres import Database
from configs.sections_retrieval import RerankSettings, SearchSettings
from pipelines.documents.chunk.language import detect_stemmers
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query import SearchQuery, SearchResults
from serve_apps.retrieval.search.retrievers import ChunkRetriever
from serve_apps.retrieval.text.literals import find_literals
from serve_apps.retrieval.text.stemming_language import StemmingLanguages
from tests.fakes import corpus
from tests.fakes.corpus import Book, Passage, hash_vector
from tests.fakes.http import Api, Office
from tests.fakes.models import FakeEmbedder

EXACT = SearchSettings(fetch=10)
INDEXED = SearchSettings(exact_scope=0, fetch=10)
WAYS = ["exact", "indexed", "full_text"]


@dataclass
class Place:
    """A workspace that is searched in one of the three ways."""

    admin: psycopg.Connection[Any]
    database: Database
    scope: Scope
    generation: int
    way: str

    @property
    def settings(self) -> SearchSettings:
        return EXACT if self.way == "exact" else INDEXED

    def add(self, *texts: str, vectors: bool = False, **more: Any) -> None:
        books = [
            Book(text[:60], [Passage(text, vector=hash_vector(text) if vectors else None)], **more) for text in texts
        ]
        corpus.load(self.admin, self.scope, self.generation, books)

    async def keyword(self, question: str, scope: Scope | None = None) -> list[str]:
        """The texts that the keyword leg finds, in its order."""
        legs, query, scope = (
            ChunkRetriever(self.database, self.settings),
            SearchQuery(question, limit=10),
            scope or self.scope,
        )
        index = await legs.resolve(scope, query)
        assert index is not None
        if scope == self.scope:
            assert index.small is (self.way == "exact")
            assert index.keyword_engine == ("full_text" if self.way == "full_text" else "bm25")
        found = await legs.keyword(scope, query, index)
        shown = await legs.passages(scope, [one.chunk_id for one in found])
        return [shown[one.chunk_id]["text"] for one in found]

    async def ask(self, question: str, **more: Any) -> SearchResults:
        search = SearchPipeline(self.database, FakeEmbedder(), None, self.settings, RerankSettings())
        return await search.run(self.scope, SearchQuery(question, **more))


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.own_bm25(connection)
        yield connection


@pytest.fixture(params=WAYS)
async def place(admin: psycopg.Connection[Any], app_dsn: str, request: Any) -> AsyncIterator[Place]:
    if request.param == "full_text":
        admin.execute("drop index document_chunks_bm25")
    database = Database(app_dsn, size=3)
    await database.open()
    scope = corpus.open_home(admin)
    made = Place(admin, database, scope, corpus.open_generation(admin, scope), request.param)
    made.add(*(f"qqq{n} zzz" for n in range(12)))  # more than `fetch`, so that only the exact way is exact
    yield made
    await database.close()


ZH = "本厂锅炉的最高允许温度为二百度。巡检员李红梅每两周检查一次。备用阀门KX-20存放在北塔仓库。"
JA = "ポンプの最大圧力は16バールです。点検は三か月ごとに行います。"
TH = "ความดันสูงสุดของปั๊มคือสิบหกบาร์ กุญแจอยู่ที่ห้องควบคุม"


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("允许温度", ZH),
        ("仓库在哪里", ZH),
        ('"最高允许温度"', ZH),
        ("KX-20", ZH),
        ("阀门 KX-20", ZH),
        ("最大圧力", JA),
        ("ﾎﾟﾝﾌﾟ", JA),
        ('"三か月ごと"', JA),
        ("ความดันสูงสุด", TH),
        ('"ห้องควบคุม"', TH),
    ],
)
async def test_words_of_scripts_without_blanks_are_found(place: Place, question: str, found: str) -> None:
    """Chinese, Japanese and Thai, quoted and not, beside part numbers, in half-width forms, whichever way is taken."""
    place.add(ZH, JA, TH, "生产计划每周一发布。", "会議は火曜日です。")
    assert (await place.keyword(question))[0] == found


async def test_a_quoted_phrase_of_such_a_script_comes_first_where_it_stands(place: Place) -> None:
    place.add("温度最高允许 允许 温度 温度", "最高允许温度")
    assert (await place.ask('哪里写着"允许温度"', strategy="keyword")).hits[0].text == "最高允许温度"


DECOYS = [
    f"The pump AB-{n}/7 and the part 1234 of series AB leak often; error E{n} is known." for n in range(1300, 1312)
]


@pytest.mark.parametrize(
    ("question", "holder"),
    [
        ("Which pump is AB-1234/7?", "Fitted: AB-1234/7."),
        ("Which pump is AB-1234?", "Seen on a plate (AB-1234/7), long ago, beside many other things of no interest."),
        ("Why does the pump leak with error E0425?", "error[E0425]: cannot find value"),
        ("What does the pump series ORA-00942 mean?", "ORA-00942: table or view does not exist"),
        ("Where is the pump set, in base.yaml?", "See configs/base.yaml for that"),
        ("Does the pump need 2.60.0?", "ray==2.60.0 is what was tried"),
        ("Does the pump need 2.60.0?", "tagged v2.60.0 in spring"),
        ("Which pump is AB‑1234/7?", "Fitted: AB-1234/7."),
        ("Which pump is ab-1234/7?", "Fitted: AB–1234/7."),
    ],
)
async def test_a_chunk_with_the_identifier_comes_first(place: Place, question: str, holder: str) -> None:
    """RE-02: as it is written, whatever else the words of the question favour, in every engine."""
    place.add(*DECOYS, holder, vectors=True)
    assert (await place.keyword(question))[0] == holder
    results = await place.ask(question)
    assert results.hits[0].text == holder and results.hits[0].scores["literal"] == 1
    assert len(results.hits) == 10  # a boost, not a filter


LETTER = (
    "Dear colleagues, the harbour crane of pier nine makes a noise since it was serviced in spring, and the driver "
    "says that its brake slips when forty tonnes hang on the hook. Beside it stands {}, which has nothing to do "
    "with this."
)


async def test_an_identifier_of_a_letter_does_not_put_all_else_behind(place: Place) -> None:
    """RE-02: a letter names things in passing; where it is about what it names, that comes first all the same."""
    about = "The brake of the harbour crane slips when forty tonnes hang on its hook: noise after the spring service."
    place.add(about, "The pump AB-1234/7 is blue.", vectors=True)
    results = await place.ask(LETTER.format("AB-1234/7"))
    assert results.hits[0].text == about and "AB-1234/7" in results.hits[1].text
    assert results.hits[1].scores["quoted_score"] == 1 and "literal" not in results.hits[1].scores
    place.add(about.replace("harbour crane", "harbour crane KR-77/2"), vectors=True)
    assert "KR-77/2" in (await place.ask(LETTER.format("KR-77/2"))).hits[0].text


async def test_an_identifier_that_is_part_of_another_is_not_meant(place: Place) -> None:
    place.add("The part AB-12345 leaks.", "The part XAB-1234 leaks.", "The part AB 1234 leaks a lot, a lot.")
    results = await place.ask("the part AB-1234")
    assert not [hit for hit in results.hits if "literal" in hit.scores]


async def test_an_identifier_in_too_many_chunks_leaves_the_order_to_the_words(place: Place) -> None:
    place.add("All about the valve: E0425, valve, valve.", *(f"E0425 again, note {n}" for n in range(12)))
    results = await place.ask("valve E0425")
    assert results.hits[0].text.startswith("All about the valve")
    assert not [hit for hit in results.hits if "literal" in hit.scores]


ZERO = [
    "Our aim is net\nzero by 2040.",
    "Net gain is zero, zero net gain.",
    "A “net—zero” plan.",
    "The internet zeros in.",
]


async def test_a_quoted_phrase_prefers(place: Place) -> None:
    """RE-02: word for word, over a line's end, with typographic quotes; what lacks it comes behind, and is there."""
    place.add(*ZERO, vectors=True)
    for question in ('When is "net zero" reached?', "When is “net zero” reached?"):
        results = await place.ask(question)
        assert sorted(hit.text[:5] for hit in results.hits[:2]) == ["A “ne", "Our a"]
        assert [hit.scores.get("quoted_score") for hit in results.hits[:3]] == [1, 1, None]
        assert {hit.text for hit in results.hits} >= set(ZERO)
        assert "quote" not in [one.name for one in results.stages]
    for question in ('When is "zero emission" reached?', "When is net zero reached?"):
        assert {hit.text for hit in (await place.ask(question)).hits} >= set(ZERO)


async def test_a_quoted_phrase_does_not_outweigh_what_all_else_speaks_for(place: Place) -> None:
    """As a person marks a word: a passage that answers the whole question comes before one that only has the word."""
    answer = "The harbour crane of pier nine lifts forty tonnes."
    place.add(answer, "The good ship left.", "Our harbour is old.", vectors=True)
    results = await place.ask('How many tonnes does the "good" harbour crane of pier nine lift?')
    assert results.hits[0].text == answer


@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "vector"])
async def test_a_quoted_phrase_filters_where_it_must(place: Place, strategy: Any) -> None:
    """RE-02: by a plus before its quotes, or for all of a question's quotes at once; whichever retriever found it."""
    place.add(*ZERO, vectors=True)
    for question, how in (('When is +"net zero" reached?', "prefer"), ('When is "net zero" reached?', "must")):
        results = await place.ask(question, quote=how, strategy=strategy)
        assert sorted(hit.text[:5] for hit in results.hits) == ["A “ne", "Our a"]
        stage = next(one for one in results.stages if one.name == "quote")
        assert stage.on and stage.kept == 2 and "net zero" in stage.detail
    for question in ('+"net zero" and +"by 2040"', '+"net zero" and "by 2040"'):
        results = await place.ask(question, quote="must", strategy=strategy)
        assert [hit.text[:5] for hit in results.hits] == ["Our a"]
    nothing = await place.ask('When is +"zero emission" reached?', strategy=strategy)
    assert nothing.hits == () and nothing.total == 0, "a filter that nothing passes leaves nothing"
    without = await place.ask("When is net zero reached?", quote="must", strategy=strategy)
    assert len(without.hits) >= 4, "without quotes there is nothing to filter by"


async def test_quotes_of_earlier_messages_do_not_filter(place: Place) -> None:
    place.add(*ZERO, vectors=True)
    history = ('Where does it say +"by 2040"?',)
    results = await place.ask("and what about a plan?", history=history, quote="must")
    assert {hit.text for hit in results.hits} >= set(ZERO)


async def test_of_a_phrase_in_many_chunks_the_best_by_words_are_taken(place: Place) -> None:
    place.add("net zero and the harbour crane, the harbour", *(f"net zero, page {n}" for n in range(30)))
    for how in ("prefer", "must"):
        results = await place.ask('the harbour crane and "net zero"', quote=how)
        assert results.hits[0].text.startswith("net zero and the harbour") and len(results.hits) == 10
        assert all(hit.text.startswith("net zero") for hit in results.hits)


async def test_a_required_phrase_in_many_chunks_is_found_where_other_words_hide_it(place: Place) -> None:
    """The best by words hold none of it, and more hold it than a retriever returns."""
    place.add(
        *(f"crane crane crane {n}" for n in range(12)), *(f"net zero, page {n}, and more words" for n in range(30))
    )
    results = await place.ask('crane +"net zero"')
    assert results.hits and all(hit.text.startswith("net zero") for hit in results.hits)


async def test_a_required_phrase_that_others_alone_may_read_leaves_nothing(place: Place) -> None:
    """MT-01: the filter tells nothing of what the caller may not see."""
    place.add("The vault code is net zero.", readers=("user:ann@x.org",), vectors=True)
    place.add("The pump is red.", vectors=True)
    assert (await place.ask('vault +"net zero"')).hits == ()


async def test_what_was_deleted_is_not_found_literally(place: Place) -> None:
    place.add("Fitted: AB-1234/7.", "The pump is red.")
    assert (await place.ask("pump AB-1234/7")).hits[0].text == "Fitted: AB-1234/7."
    place.admin.execute("delete from documents where filename like 'Fitted%'")
    assert [hit.text for hit in (await place.ask("pump AB-1234/7")).hits] == ["The pump is red."]


async def test_literal_finds_respect_readers_and_workspaces(place: Place) -> None:
    """MT-01: the function with its owner's rights holds the wall itself, whatever it is asked."""
    place.add("Secret part AB-1234/7, net zero.", readers=("user:ann@x.org",))
    other = corpus.open_home(place.admin, "other", place.scope.tenant)
    place.admin.execute("update workspaces set generation_id = %s", (place.generation,))
    question = 'part AB-1234/7 "net zero"'
    ann = Scope(place.scope.tenant, place.scope.workspace, ("user:ann@x.org",))
    assert len(await place.keyword(question, ann)) == 1
    assert await place.keyword(question) == await place.keyword(question, other) == []
    row = place.admin.execute(
        "select proargnames, prosecdef, proconfig from pg_proc where proname = 'holding_literally'"
    )
    names, definer, config = row.fetchone() or ((), False, [])
    assert definer and "search_path=public, pg_temp" in config
    assert not {"tenant", "workspace", "readers", "principals"} & {name.removeprefix("r_") for name in names}


async def test_what_is_asked_for_was_stored_as_it_is_looked_for(admin: psycopg.Connection[Any]) -> None:
    """Whatever `find` takes for an identifier, the index has the parts of; text that is hostile to patterns too."""
    questions = ["AB-1234/7 E0425 ORA-00942 base.yaml max_retry v2.60.0 2026-05-05 104233 a/b/c1.d#e:f", "x1" * 90]
    for question in questions:
        for code in find_literals(question).codes:
            row = admin.execute(
                "select atoms_of(gen_random_uuid(), %(code)s) <> '{}', lower(untypeset(%(text)s))"
                " ~ ('(?:^|[^a-z0-9])' || replace(%(code)s, '.', '\\.') || '(?:$|[^a-z0-9])')",
                {"code": code, "text": f"({question})"},
            ).fetchone()
            assert row == (True, code != "2.60.0"), code  # written with its v there


async def test_words_are_cut_in_the_language_of_their_workspace(place: Place) -> None:
    """RE-02: German endings in one workspace, English in the next, on every engine; changed for all that is there."""
    text = "Die Häuser am Hafen wurden verkauft."
    place.add(text, "Der Kran ist rot.")
    assert await place.keyword("ein Haus") == []
    whole = Scope(place.scope.tenant, place.scope.workspace, (EVERY_READER,))
    async with place.database.transaction(whole) as tx:
        changed = await tx.one("select set_language('german') as chunks")
    assert changed == {"chunks": 14}
    assert await place.keyword("ein Haus") == [text]
    async with place.database.transaction(whole) as tx:
        await tx.run("""insert into document_chunks (id, document_id, version_id, tenant_id, workspace_id, chunker,
            chunk_index, text, search_text, page_start, page_end, spans)
            select 'new', document_id, version_id, tenant_id, workspace_id, chunker, 7, 'Zwei Brücken', 'Zwei Brücken',
            1, 1, spans from document_chunks limit 1""")
    assert await place.keyword("die Brücke") == ["Zwei Brücken"]
    async with place.database.transaction(whole) as tx:
        with pytest.raises(psycopg.Error, match="unknown language klingon"):
            await tx.run("select set_language('klingon')")


GERMAN = "Die Häuser am Hafen wurden im vergangenen Sommer verkauft, wie der Makler in seinem Bericht schreibt."
ENGLISH = "The houses at the harbour were repaired by the two carpenters who had been hired during last summer."
RUSSIAN = "Насосы на северной станции были проверены инженерами завода в начале прошлого месяца."
ARABIC = "تم فحص المضخات في المحطة الشمالية من قبل مهندسي المصنع في بداية الشهر الماضي."


@pytest.fixture
def mixed(place: Place) -> Place:
    """Four languages and Chinese in one workspace, each document's detected, as the indexer does it."""
    texts = (GERMAN, ENGLISH, RUSSIAN, ARABIC, ZH)
    books = [Book(f"{n}", [Passage(text, language=detect_stemmers([text])[0])]) for n, text in enumerate(texts)]
    corpus.load(place.admin, place.scope, place.generation, books)
    return place


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Wann wurde das Haus am Hafen verkauft?", GERMAN),
        ("Haus", GERMAN),  # which language that is, nobody can tell
        ("Who was repairing the house?", ENGLISH),
        ("carpenter", ENGLISH),
        ("Какой насос проверил инженер?", RUSSIAN),
        ("ما هي المضخة التي فحصها المهندسون؟", ARABIC),
        ("巡检员多久检查一次？", ZH),
    ],
)
async def test_a_question_finds_passages_of_its_language_among_others(mixed: Place, question: str, found: str) -> None:
    """Endings are cut by the language of each passage, on every engine, in a workspace that is told none."""
    assert (await mixed.keyword(question))[0] == found


async def test_a_name_is_found_in_passages_of_every_language(mixed: Place) -> None:
    """Those in the language of the question come first, though they say it no oftener."""
    texts = [
        "Herr Kowalczyk hat den Vertrag im Mai unterschrieben und gleich zurückgeschickt.",
        "Mister Kowalczyk signed the contract in May and returned it to us without delay.",
    ]
    books = [Book(text[:20], [Passage(text, language=detect_stemmers([text])[0])]) for text in texts]
    corpus.load(mixed.admin, mixed.scope, mixed.generation, books)
    german, english = texts
    assert set(await mixed.keyword("Kowalczyk")) == set(texts)
    if mixed.way != "full_text":  # which knows no languages of chunks
        assert await mixed.keyword("What is it that was signed by Kowalczyk in the end?") == [english, german]
        assert await mixed.keyword("Was ist es, das von Herrn Kowalczyk unterschrieben ist?") == [german, english]


async def test_stop_words_of_the_question_are_not_looked_for_in_other_languages(mixed: Place) -> None:
    """German `die` and `war` are English words; a German question does not ask for those."""
    text = "Many of them had to die in the long war, which nobody in the small village had ever wanted."
    corpus.load(mixed.admin, mixed.scope, mixed.generation, [Book("war", [Passage(text, language="english")])])
    assert text not in await mixed.keyword("Wer war die Person, die das Haus am Hafen verkauft hat?")
    assert text in await mixed.keyword("war")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("هُزم فريق البانثرز، والدوري انتهى؛ كما قيل", "كم تخلى البانثرز؟"),
        ("هُزم فريق البانثرز، انتهى الدوري؛ كما قيل", "الدوري؟"),
        ("بیماری پمپ؟ نه", "پمپ"),
        ("पंप की जाँच होती है।", "जाँच"),
        ("Պոմպը ստուգվում է։", "ստուգվում"),
        ("ለፓምፑ ምርመራ፣ ተደረገ።", "ምርመራ"),
        ("¿Cuántos puntos? ¡Trece!", "trece"),
        ("المـــضخة تعمل", "المضخة"),
        ("صدر التقرير عام ٢٠١٤ في المدينة", "2014"),
        ("\u200fالمضخة\u200e تعمل", "المضخة"),
    ],
)
async def test_punctuation_and_digits_of_other_scripts_are_no_letters(place: Place, text: str, question: str) -> None:
    """The last word of an Arabic question was another word, with its question mark."""
    book = Book("one", [Passage(text, language=detect_stemmers([text])[0])])
    corpus.load(place.admin, place.scope, place.generation, [book])
    assert await place.keyword(question) == [text]


async def test_words_with_quotes_and_backslashes_are_asked_in_several_languages(mixed: Place) -> None:
    """What the parser makes of them is written into a query and read back."""
    odd = r"The path C:\temp\o'neil\'x' of the houses, isn't it?"
    assert ENGLISH in await mixed.keyword(odd)
    row = mixed.admin.execute("select asked_words('english,german,simple', %s)", (odd,)).fetchone()
    assert row and "hous" in row[0]
    assert mixed.admin.execute("select asked_words('english,german', 'who was it')").fetchone() == ("",)


async def test_the_languages_of_a_workspace_are_detected_anew_and_set_again(mixed: Place) -> None:
    """An override holds for all that is there; `auto` takes it back, document by document."""
    whole = Scope(mixed.scope.tenant, mixed.scope.workspace, (EVERY_READER,))
    languages = StemmingLanguages(mixed.database)
    async with mixed.database.transaction(whole) as tx:
        assert await languages.change(tx, whole, "english") == 4
    assert await languages.current(mixed.scope) == "english" and await languages.present(mixed.scope) == ["english"]
    assert GERMAN not in await mixed.keyword("Haus")
    async with mixed.database.transaction(whole) as tx:
        assert await languages.change(tx, whole, "auto") >= 4
    assert set(await languages.present(mixed.scope)) == {"english", "german", "russian", "arabic", "simple"}
    assert (await mixed.keyword("Haus"))[0] == GERMAN


async def test_languages_are_detected_page_by_page_before_anything_is_written(mixed: Place) -> None:
    """The pages cut documents in two; what comes between the detection and the change is detected with the change."""
    whole = Scope(mixed.scope.tenant, mixed.scope.workspace, (EVERY_READER,))
    languages = StemmingLanguages(mixed.database, chunks=2)
    parts = [Passage(text) for text in ("Kurz.", GERMAN, "Noch eins.", ENGLISH, "Und noch eins.")]
    corpus.load(mixed.admin, mixed.scope, mixed.generation, [Book("mixed.txt", parts)])
    detected = await languages.detect(whole)
    assert detected == await StemmingLanguages(mixed.database).detect(whole)
    sql = "select c.id from document_chunks c join documents d on d.id = c.document_id where d.filename = 'mixed.txt'"
    ids = [row[0] for row in mixed.admin.execute(f"{sql} order by c.chunk_index").fetchall()]
    assert [detected[one] for one in ids] == detect_stemmers([part.text for part in parts])
    assert {"german", "english"} == {detected[one] for one in ids}
    corpus.load(mixed.admin, mixed.scope, mixed.generation, [Book("since.txt", [Passage(GERMAN + " Und mehr.")])])
    for language in ("english", "auto"):
        async with mixed.database.transaction(whole) as tx:
            await languages.change(tx, whole, language, detected)
    cut = dict(mixed.admin.execute("select id, language from document_chunks").fetchall())
    assert detected.items() <= cut.items()
    assert [cut[one] for one in cut.keys() - detected.keys()] == ["german"]


async def test_a_required_phrase_of_stop_words_is_found(place: Place) -> None:
    """No index has its words: it is looked for in what the other words and the meaning found."""
    said = "To be, or not to be: that is the question of the prince."
    place.add(said, "That may be the question of the prince.", "Not to be had.", vectors=True)
    for question in ('question of the prince +"to be or not to be"', '+"to be or not to be"'):
        assert {hit.text for hit in (await place.ask(question)).hits} == {said}


async def test_typographic_characters_are_no_part_of_a_word(place: Place) -> None:
    """The parser takes all beyond ASCII for letters: a curly quote would make another word of the word beside it."""
    place.add("“Pump”—the company’s pride…", "•valves\u00a0and ﬁlters", "co\u00adoperation in Zürich")
    assert len(await place.keyword("pump")) == 1
    assert len(await place.keyword("company's pride")) == 1
    assert len(await place.keyword("filters and valve")) == 1
    assert len(await place.keyword("cooperation")) == len(await place.keyword("Zürich")) == 1


UNSPACED = {
    "chinese": ("减速箱的润滑油每两千小时更换一次，型号为QX-118。", "备用钥匙放在三楼的保险柜里。"),
    "japanese": ("圧縮機の点検は毎週月曜日に行います。担当は佐藤です。", "コンプレッサーの部品は倉庫にあります。"),
    "thai": ("น้ำมันเครื่องต้องเปลี่ยนทุกสองร้อยชั่วโมง", "กุญแจสำรองอยู่ในตู้เซฟชั้นสาม"),
    "lao": ("ນ້ຳມັນເຄື່ອງຕ້ອງປ່ຽນທຸກສອງຮ້ອຍຊົ່ວໂມງ", "ກະແຈສຳຮອງຢູ່ໃນຕູ້ນິລະໄພ"),
    "khmer": ("ប្រេងម៉ាស៊ីនត្រូវប្តូររៀងរាល់ពីររយម៉ោង", "កូនសោបម្រុងនៅក្នុងទូដែក"),
    "burmese": ("အင်ဂျင်ဆီကိုနာရီနှစ်ရာတိုင်းလဲရမည်", "အပိုသော့ကိုမီးခံသေတ္တာထဲတွင်ထားသည်"),
}


@pytest.mark.parametrize(
    ("script", "question", "at"),
    [
        ("chinese", "润滑油", 0),
        ("chinese", "钥匙在哪里", 1),
        ("chinese", "ＱＸ－１１８ 更换", 0),
        ("japanese", "点検", 0),
        ("japanese", "ｺﾝﾌﾟﾚｯｻｰ", 1),
        ("japanese", "佐藤さん", 0),
        ("thai", "น้ำมันเครื่อง", 0),
        ("thai", "ตู้เซฟ", 1),
        ("lao", "ນ້ຳມັນ", 0),
        ("lao", "ກະແຈ", 1),
        ("khmer", "ប្រេងម៉ាស៊ីន", 0),
        ("khmer", "កូនសោ", 1),
        ("burmese", "အင်ဂျင်ဆီ", 0),
        ("burmese", "သော့", 1),
    ],
)
async def test_words_of_scripts_without_spaces_are_found_by_words(
    place: Place, script: str, question: str, at: int
) -> None:
    """RE-02: on every engine, the one that holds the word first, whatever is written around it."""
    place.add(*UNSPACED[script], "The gearbox has oil and a key.")
    assert (await place.keyword(question))[0] == UNSPACED[script][at]


@pytest.mark.parametrize(
    ("question", "holder"),
    [
        ("哪里写着「三楼的保险柜」？", "备用钥匙放在三楼的保险柜里。"),
        ("哪里写着“保险柜”这个词", "备用钥匙放在三楼的保险柜里。"),
        ("佐藤さんの『毎週月曜日』とは", "圧縮機の点検は毎週月曜日に行います。担当は佐藤です。"),
        ('อะไรคือ "ทุกสองร้อยชั่วโมง"', "น้ำมันเครื่องต้องเปลี่ยนทุกสองร้อยชั่วโมง"),
    ],
)
async def test_quoted_phrases_of_such_scripts_are_found_as_they_are_written(
    place: Place, question: str, holder: str
) -> None:
    texts = [text for pair in UNSPACED.values() for text in pair]
    place.add(*texts, "三楼没有柜子。保险箱在楼下。", vectors=True)
    assert (await place.ask(question)).hits[0].text == holder
    assert [hit.text for hit in (await place.ask(question, quote="must")).hits] == [holder]


async def test_a_word_of_one_letter_is_found_within_a_sentence(place: Place) -> None:
    """And only its letter: a question of many letters is not looked for by each of them."""
    place.add("备用泵存放在仓库。", "钥匙放在三楼。")
    assert await place.keyword("泵") == ["备用泵存放在仓库。"]
    assert await place.keyword("泵 pump") == ["备用泵存放在仓库。"]
    assert await place.keyword("三泵楼放") == []


async def test_part_numbers_between_such_letters_are_identifiers(place: Place) -> None:
    place.add("请更换QX-1181型滤芯。", "请更换QX-1182型滤芯。", vectors=True)
    for question in ("QX-1182型滤芯在哪里", "ＱＸ－１１８２"):
        hit = (await place.ask(question)).hits[0]
        assert hit.text == "请更换QX-1182型滤芯。" and hit.scores["literal"] == 1


async def test_what_was_stored_before_is_cut_anew_by_the_migration(admin: psycopg.Connection[Any]) -> None:
    """Rows of such scripts, and no others; what was remembered of their workspaces is forgotten."""
    scopes = [corpus.open_home(admin, name) for name in ("thai", "german")]
    generation = corpus.open_generation(admin, *scopes)
    for scope, text in zip(scopes, ("กุญแจสำรองอยู่ในตู้เซฟ", "Der Schlüssel liegt im Schrank."), strict=True):
        corpus.load(admin, scope, generation, [Book("a.txt", [Passage(text)])])
    cut = "select array_agg(length(lexemes) order by search_text), array_agg(xmin::text order by search_text)"
    before = admin.execute(f"{cut} from document_chunks").fetchone()
    migration = (FOLDER / "0028_unspaced_words.sql").read_text(encoding="utf-8")
    words_of = "create or replace function words_of"
    admin.execute(
        f"{words_of}(language text, content text) returns tsvector language sql immutable parallel safe as"
        " $$ select to_tsvector(('pg_catalog.' || language)::regconfig, untypeset(content)) $$"
    )
    admin.execute("update document_chunks set language = language")
    old = admin.execute(f"{cut} from document_chunks").fetchone()
    counted = admin.execute("select name, corpus_version from workspaces order by name").fetchall()
    admin.execute(migration[migration.index(words_of) : migration.index("-- The words that a question")])  # type: ignore[arg-type]
    admin.execute(migration[migration.index("-- What is there is cut anew") :])  # type: ignore[arg-type]
    new = admin.execute(f"{cut} from document_chunks").fetchone()
    assert before is not None and old is not None and new is not None
    assert old[0] != before[0] == new[0] and old[1][0] == new[1][0] and old[1][1] != new[1][1]
    later = admin.execute("select name, corpus_version from workspaces order by name").fetchall()
    assert [after[1] - now[1] for now, after in zip(counted, later, strict=True)] == [0, 1]


async def test_the_marks_of_other_scripts_are_cut_off_by_the_migration_where_there_are_any(
    admin: psycopg.Connection[Any],
) -> None:
    """Only rows whose words change are written; `workspaces` is not locked before they are."""
    scopes = [corpus.open_home(admin, name) for name in ("arabic", "chinese", "greek", "plain")]
    generation = corpus.open_generation(admin, *scopes)
    texts = ("ما هو الدوري؟", "《保险箱在楼下》", "Ἐλθέ\u0387 καὶ ἰδέ", "fibre \u00b7 optic")
    for scope, text in zip(scopes, texts, strict=True):
        corpus.load(admin, scope, generation, [Book("a.txt", [Passage(text)])])
    migration = (FOLDER / "0038_languages.sql").read_text(encoding="utf-8")
    before = (FOLDER / "0013_ranking.sql").read_text(encoding="utf-8")
    former = before[before.index("create function untypeset") : before.index("-- The words of a text")]
    admin.execute(former.replace("create function", "create or replace function"))  # type: ignore[arg-type]
    admin.execute("update document_chunks set language = language")
    facts = (
        "select w.name, c.xmin::text, w.corpus_version, c.lexemes::text"
        " from document_chunks c join workspaces w on w.id = c.workspace_id order by w.name"
    )
    old = admin.execute(facts).fetchall()
    part = migration[migration.index("-- Text as the word parser") : migration.index("alter table workspaces")]
    admin.execute(part + "alter table workspaces add column stands_in int;")  # type: ignore[arg-type]
    new = admin.execute(facts).fetchall()
    changed = {now[0]: (was[1] != now[1], now[2] - was[2]) for was, now in zip(old, new, strict=True)}
    assert changed == {"arabic": (True, 1), "chinese": (False, 0), "greek": (True, 1), "plain": (False, 0)}
    assert "\u0387" not in new[2][3] and "\u00b7" not in new[2][3]


async def test_text_of_other_scripts_has_the_words_that_it_had(admin: psycopg.Connection[Any]) -> None:
    for text in ("Größe: 5 µm, naïve café №7", "насос весит 12 кг", "المضخة تزن ١٢", "펌프는 12kg입니다", "plain"):
        row = admin.execute(
            "select words_of('english', %(t)s) = to_tsvector('english', untypeset(%(t)s)),"
            " asked_words('english', %(t)s) = words_of('english', %(t)s), asked_terms('english', %(t)s) ="
            " terms_of('english', %(t)s)",
            {"t": text},
        ).fetchone()
        assert row == (True, True, True), text


async def test_the_words_of_the_index_are_those_of_the_exact_path(admin: psycopg.Connection[Any]) -> None:
    """Each lexeme is one word of the text that BM25 counts, as often as it stands there."""
    text = "State-of-the-art pumps pump at 20°C, see http://x.org/a?b=1 or -1147: v2.3.1 AB-1234/7, naïve Zürich 漢字"
    row = admin.execute(
        "select array(select lexeme || ':' || cardinality(positions) from unnest(to_tsvector('simple',"
        " terms_of('english', %(text)s)))), array(select cardinality(positions) from unnest(words_of('english',"
        " %(text)s)))",
        {"text": text},
    ).fetchone()
    assert row is not None
    assert len(row[0]) == len(row[1]) and "pump:2" in row[0]
    assert sorted(int(word.split(":")[1]) for word in row[0]) == sorted(row[1])
    empty = admin.execute(
        "select terms_of('english', 'the of'), atoms_of(gen_random_uuid(), ''), in_order('')"
    ).fetchone()
    assert empty == ("", [], "  ")


async def test_a_word_that_a_question_says_twice_counts_twice(place: Place) -> None:
    """As BM25 has it, on the exact way as in the index; Postgres' own ranking knows no such thing."""
    place.add(*(f"valve number {n}" for n in range(3)), *(f"crane number {n}" for n in range(3)), "a valve", "a crane")
    if place.way == "full_text":
        return
    assert (await place.keyword("valve crane crane"))[0] == "a crane"
    assert (await place.keyword("valve crane valve"))[0] == "a valve"


async def test_the_exact_way_scores_repeated_words_as_the_index_does(
    admin: psycopg.Connection[Any], app_dsn: str
) -> None:
    scope = corpus.open_home(admin)
    texts = ["pump oil valve", "pump pump crane", "oil oil oil crane", "valve crane pump oil"]
    corpus.load(admin, scope, corpus.open_generation(admin, scope), [Book(text, [Passage(text)]) for text in texts])
    database = Database(app_dsn, size=2)
    await database.open()
    ratios = []
    for settings in (EXACT, INDEXED):
        legs = ChunkRetriever(database, settings)
        shares = []
        for question in ("valve oil", "valve valve valve oil"):
            index = await legs.resolve(scope, SearchQuery(question))
            assert index is not None
            found = {one.document_id: one.score for one in await legs.keyword(scope, SearchQuery(question), index)}
            shares.append(max(found.values()))
        ratios.append(shares[1] / shares[0])
    await database.close()
    assert ratios[0] == pytest.approx(ratios[1], rel=0.1) and ratios[0] > 1.5


async def test_the_words_of_a_letter_weigh_less_than_those_of_a_question(place: Place) -> None:
    """As `explain` says, and as the scores have it."""
    place.add("The pump of pier nine weighs twelve kilograms.", vectors=True)
    told = []
    for question in ("pump weight", "Dear all, we have been asked for the pump and what it weighs. " * 3):
        results = await place.ask(question)
        told.append(next(one.detail for one in results.stages if one.name == "fuse"))
    assert told == [
        "weighted RRF of 2 lists by score, words 0.5 to meaning 0.5",
        "weighted RRF of 2 lists by score, words 0.33 to meaning 0.5",
    ]


async def test_an_operator_chooses_the_language(
    api: Api, office: Office, operator: httpx.AsyncClient, admin_dsn: str
) -> None:
    """RE-02: over HTTP, on record, and refused to those who only read."""
    found = (await operator.get("/api/search/language")).json()
    assert found["language"] == "auto" and {"german", "simple"} <= set(found["known"])
    changed = await operator.put("/api/search/language", json={"language": "german"})
    assert changed.status_code == 200 and changed.json()["language"] == "german" and changed.json()["chunks"] == 0
    assert (await operator.get("/api/search/language")).json()["language"] == "german"
    wrong = await operator.put("/api/search/language", json={"language": "klingon"})
    assert wrong.status_code == 422 and "german" in wrong.json()["fix"]
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    assert (await viewer.put("/api/search/language", json={"language": "german"})).status_code == 403
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select detail from audit where action = 'search.language'").fetchone()
    assert row == ({"language": "german", "chunks": 0},)
