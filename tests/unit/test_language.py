"""Languages of texts: detected by document and by chunk, and what a question is read in."""

from dataclasses import dataclass

import pytest

from pipelines.documents.chunk.language import CODES, detect_stemmers, question_stemmers, rank_languages, stemmer_of
from pipelines.documents.chunk.sentences import sentences
from serve_apps.retrieval.answers.abstain import UncoveredTerms, find_uncovered_terms, supports_answer
from serve_apps.retrieval.answers.support import support_objection
from serve_apps.retrieval.text.rule_languages import RULES, RuleLanguage, rule_language, text_language

TEXTS = {
    "english": "The pump has to be inspected every two weeks, and the results are written in the log of the plant.",
    "german": "Die Pumpe muss alle zwei Wochen geprüft werden, und die Ergebnisse werden im Betriebsbuch notiert.",
    "french": "La pompe doit être contrôlée toutes les deux semaines, et les résultats sont notés dans le journal.",
    "spanish": "La bomba debe revisarse cada dos semanas, y los resultados se anotan en el registro de la planta.",
    "russian": "Насос необходимо проверять каждые две недели, а результаты записывать в журнал станции.",
    "arabic": "يجب فحص المضخة كل أسبوعين، وتسجيل النتائج في سجل المحطة بعد انتهاء العمل مباشرة.",
    "hindi": "पंप की हर दो सप्ताह में जाँच होनी चाहिए, और परिणाम संयंत्र की पुस्तिका में लिखे जाते हैं।",
    "turkish": "Pompa iki haftada bir kontrol edilmeli ve sonuçlar tesisin günlüğüne yazılmalıdır.",
}
UNSTEMMED = [
    "本厂锅炉的最高允许温度为二百度。巡检员李红梅每两周检查一次。",
    "ポンプの最大圧力は16バールです。点検は三か月ごとに行います。",
    "ความดันสูงสุดของปั๊มคือสิบหกบาร์ กุญแจอยู่ที่ห้องควบคุม",
    "펌프는 2주마다 점검해야 하며 결과는 공장 일지에 기록됩니다.",
    "Pompę należy sprawdzać co dwa tygodnie, a wyniki zapisywać w dzienniku zakładu.",
]


@pytest.mark.parametrize("stemmer", TEXTS)
def test_a_text_is_in_the_language_that_it_is_in(stemmer: str) -> None:
    assert detect_stemmers([TEXTS[stemmer]]) == [stemmer]
    assert rank_languages(TEXTS[stemmer])[0][0] == CODES[stemmer]


@pytest.mark.parametrize("text", UNSTEMMED)
def test_a_language_without_a_stemmer_is_not_taken_for_one_that_has(text: str) -> None:
    assert detect_stemmers([text]) == ["simple"]


def test_a_chunk_in_another_language_than_its_document_has_its_own() -> None:
    found = detect_stemmers([TEXTS["english"], TEXTS["german"], TEXTS["english"]])
    assert found == ["english", "german", "english"]


@pytest.mark.parametrize("text", ["12.4 kg, 300.00", "", "KX-20", "| 4711 | 12 |"])
def test_a_chunk_that_tells_no_language_has_that_of_its_document(text: str) -> None:
    assert detect_stemmers([TEXTS["german"], text]) == ["german", "german"]
    assert detect_stemmers([text]) == ["english"], "nothing tells it: as ever"


def test_a_long_list_of_names_is_in_no_language_that_it_might_be_in() -> None:
    places = ("Bandra Kurla", "Andheri West", "Sion Circle", "Powai", "Chembur East", "Dadar TT", "Borivali", "Worli")
    names = [f"{n}. **{places[n % 8]} ATM** Address: {places[n * 3 % 8]} Bus Depot, Mumbai {n}" for n in range(90)]
    assert set(detect_stemmers(["\n".join(names[at : at + 15]) for at in range(0, 90, 15)])) == {"english"}


def test_garbage_has_some_language_and_ends() -> None:
    for text in ("\x00\ud800\ufffd" * 50, "a" * 100_000, "\u202e" * 1000, "=" * 500):
        assert len(detect_stemmers([text, text])) == 2
    assert detect_stemmers([]) == []


def test_a_question_that_tells_its_language_is_read_in_it_and_in_those_that_are_searched() -> None:
    assert question_stemmers("Wie oft muss die Pumpe geprüft werden?", ["english", "german"]) == (
        "german",
        ["german", "english"],
    )
    assert question_stemmers("Wie oft muss die Pumpe geprüft werden?", ["english"]) == ("german", ["german", "english"])


def test_a_few_words_are_read_in_the_likeliest_language_that_is_there() -> None:
    sure, read = question_stemmers("presión máxima", ["english", "spanish"])
    assert sure is None and read == ["spanish", "english"]
    assert question_stemmers("KX-20", []) == (None, ["english"])


def test_what_is_no_language_of_postgres_has_no_stemmer() -> None:
    assert stemmer_of("zh") == stemmer_of("xx") == "simple" and stemmer_of("de") == "german"


def test_rules_that_know_english_only_do_not_judge_other_languages() -> None:
    assert rule_language("How often is it checked?", ["english"]).judged_by == RULES
    assert rule_language("¿Con qué frecuencia debe revisarse la bomba?", ["spanish"]).judged_by == ("names",)
    assert "meaning" not in rule_language("锅炉的最高允许温度是多少？", ["simple"]).judged_by
    german = rule_language("Wie oft muss die Pumpe geprüft werden?", ["german"])
    assert german.judged_by == () and german.code == "de"
    assert rule_language("锅炉的最高允许温度是多少？", ["simple"]) == RuleLanguage("simple")
    assert RuleLanguage("simple").code is None and text_language("KX-20") == RuleLanguage()


def test_german_nouns_are_no_names_that_nobody_knows() -> None:
    """Every noun has a capital there: what a passage words otherwise would be somebody unknown."""
    question = "Welche Maschine braucht alle zwei Wochen eine Prüfung?"
    english = find_uncovered_terms(question, ())
    assert english.unknown and english.words
    german = find_uncovered_terms(question, (), language=RuleLanguage("german"))
    assert (german.unknown, german.words, german.cost) == ((), 0.0, 0.0)
    assert find_uncovered_terms("Was war am 3. 5. 2024 und am 03.05.2024?", (), language=RuleLanguage("german")).dates


def test_a_claim_in_german_is_not_dropped_for_its_nouns() -> None:
    quote = TEXTS["german"]
    claim = "Die Pumpe wird alle zwei Wochen geprüft, und im Betriebsbuch werden die Ergebnisse als Protokoll notiert."
    assert support_objection(claim, [quote], [], "Wie oft?", 0.9) is None
    assert "17" in (support_objection("Die Pumpe wird alle 17 Wochen geprüft.", [quote], [], "Wie oft?", 0.9) or "")


@dataclass(frozen=True)
class Judged:
    coverage: float
    similarity: float | None = None
    score: float = 0.0


@pytest.mark.parametrize(("stemmer", "enough"), [("english", 0.67), ("german", 0.25), ("simple", 0.15)])
def test_where_meaning_is_not_compared_a_sentence_shares_enough_words(stemmer: str, enough: float) -> None:
    asked = UncoveredTerms(language=RuleLanguage(stemmer))
    assert supports_answer(Judged(enough + 0.01), asked) and not supports_answer(Judged(enough - 0.01), asked)


@pytest.mark.parametrize(
    "text", ["كم عدد الأعضاء؟ ثلاثون عضواً.", "कौन आया? वह आया। फिर गया।", "کون آیا؟ وہ آیا۔ پھر گیا۔"]
)
def test_sentences_end_with_the_marks_of_their_script(text: str) -> None:
    assert len(list(sentences(text, 0, len(text)))) >= 2
