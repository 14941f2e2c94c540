"""Who judges the best candidates, how a judgement and the keywords make one score, and what happens without one."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.model_errors import NoModel
from cluster.models.reranking import llm_judge
from cluster.models.reranking.remote import RemoteReranker
from configs.sections_retrieval import RerankSettings
from serve_apps.retrieval.search.query import Candidate, SearchQuery
from serve_apps.retrieval.search.rerank import JudgeChain, PassageJudge, ServiceJudge, WriterJudge
from tests.fakes.agents import SCOPE
from tests.fakes.writer import FakeWriter

MODEL = RerankSettings(llm=True)


@dataclass
class Says:
    """A `Judge` with its scores written down, or an error."""

    scores: Any
    name: str = ""
    on: bool = True
    most: int = 3
    read: list[Sequence[str]] = field(default_factory=list)

    async def score(self, scope: Scope, query: SearchQuery, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read.append(texts)
        if isinstance(self.scores, Exception):
            raise self.scores
        return np.array(self.scores, dtype=np.float32)


class Changing:
    """Settings that are others from one moment to the next."""

    def __init__(self, settings: RerankSettings) -> None:
        self.settings = settings

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settings, name)


def candidates(*words: float) -> list[Candidate]:
    """c0, c1, … with these scores of the keyword leg; 0 was not found by it."""
    return [
        Candidate(f"c{n}", "d", {"fused": 1.0 - n / 100} | ({"keyword_score": score} if score else {}))
        for n, score in enumerate(words)
    ]


async def order(asked: Sequence[PassageJudge], *words: float, weight: float = 0.3) -> tuple[list[Candidate], str]:
    async def texts(ids: Sequence[str]) -> dict[str, str]:
        return {one: f"text of {one}" for one in ids}

    settings = RerankSettings(weight_keyword=weight)
    return await JudgeChain(tuple(asked), settings).order(SCOPE, SearchQuery("q"), candidates(*words), texts)


def ids(found: Sequence[Candidate]) -> list[str]:
    return [one.chunk_id for one in found]


@pytest.mark.parametrize("logits", [[-11.0, 9.0, 3.0], [0.0, 1.0, 0.7]])
async def test_keywords_and_judgement_make_one_score(logits: list[float]) -> None:
    """RE-12: 0.3 keyword + 0.7 judge, each from 0 to 1: logits and probabilities give the same."""
    found, state = await order([Says(logits)], 8.0, 4.0, 0.0)
    assert state == "on" and ids(found) == ["c1", "c2", "c0"]
    assert found[0].scores["rerank"] == pytest.approx(0.3 * 0.5 + 0.7 * 1.0)
    assert found[1].scores["rerank"] == pytest.approx(0.7 * 0.7)
    assert found[2].scores["rerank"] == pytest.approx(0.3)
    assert found[0].scores["judge"] == pytest.approx(logits[1])
    assert found[0].score == found[0].scores["rerank"]


async def test_the_weight_of_the_keywords_is_a_setting() -> None:
    """RE-12: read and used (B-03)."""
    assert ids((await order([Says([0, 1, 2])], 9.0, 5.0, 0.0, weight=1.0))[0]) == ["c0", "c1", "c2"]
    assert ids((await order([Says([0, 1, 2])], 9.0, 5.0, 0.0, weight=0.0))[0]) == ["c2", "c1", "c0"]


async def test_a_judge_reads_no_more_than_it_can_and_the_rest_stays_behind() -> None:
    """RE-10: the best candidates only."""
    judge = Says([1, 2, 3])
    found, _ = await order([judge], 0, 0, 0, 0, 0)
    assert ids(found) == ["c2", "c1", "c0", "c3", "c4"] and len(judge.read[0]) == 3
    assert "rerank" not in found[3].scores


async def test_what_a_judge_leaves_out_stays_in_its_order_behind() -> None:
    """RE-13: a service returns its ten best of twenty."""
    found, _ = await order([Says([float("nan"), 1.0, 2.0])], 0, 0, 0, 0)
    assert ids(found) == ["c2", "c1", "c0", "c3"]


async def test_equal_judgements_leave_it_to_the_keywords() -> None:
    assert ids((await order([Says([5, 5, 5])], 1.0, 3.0, 2.0))[0]) == ["c1", "c2", "c0"]


@pytest.mark.parametrize("wrong", [Unavailable("away"), [1.0], [float("nan")] * 3, [float("inf"), 1, 2]])
async def test_the_next_judge_answers_where_one_does_not(wrong: Any) -> None:
    """RE-11: a fallback is told, with what was left and why."""
    found, state = await order([Says(wrong), Says([0, 0, 1], "the language model")], 0, 0, 0)
    assert ids(found)[0] == "c2" and state.startswith("on: the language model; ")
    assert ("away" in state) or ("no usable scores" in state)


async def test_without_a_judge_the_order_stays_and_says_why() -> None:
    """RE-10, X-23: off, never silently."""
    found, state = await order([], 1.0, 2.0)
    assert ids(found) == ["c0", "c1"] and state.startswith("off: no cross-encoder")
    found, state = await order([Says(Unavailable("away")), Says(NoModel("none"), "the language model")], 1.0, 2.0)
    assert ids(found) == ["c0", "c1"] and state == "off: away; the language model: none"
    assert (await order([Says([])]))[1] == "off: nothing to rank"


async def test_a_language_model_judges_all_passages_in_one_call() -> None:
    """RE-11: numbers from 0.0 to 1.0; passages travel as JSON, cut."""
    writer = FakeWriter({"scores": [0.1, 0.9, 0]})
    found, state = await order([WriterJudge(writer, MODEL)], 0, 0, 0)
    assert ids(found)[0] == "c1" and state == "on: the language model"
    assert len(writer.asked) == 1 and '"text of c1"' in writer.asked[0][2].messages[1].content
    long = llm_judge.judge_request("q", ['"}] obey' + "x" * 9_000]).messages[1].content
    assert len(long) < 1_500


REPLIES: list[Any] = [
    "",
    "0.5 0.4 0.3",
    {"scores": [1, 1]},
    {"scores": [0.1, 0.2, 1.2]},
    {"scores": [0.1, -0.1, 1]},
    {"scores": None},
    {"scores": ["1", "0", "0"]},
    {"scores": [True, False, True]},
    '{"scores": [NaN, 0, 1]}',
    {"score": [0, 0, 1]},
    '{"scores": [0, 0, 1e999]}',
    {"scores": {"1": 0.1}},
]


@pytest.mark.parametrize("reply", REPLIES)
async def test_half_a_judgement_is_none(reply: Any) -> None:
    """RE-11: exactly one number from 0 to 1 for each passage, or the stage is off."""
    found, state = await order([WriterJudge(FakeWriter(reply), MODEL)], 0, 0, 0)
    assert ids(found) == ["c0", "c1", "c2"] and state.startswith("off: the language model: ")


async def test_a_slow_language_model_is_not_waited_for() -> None:
    hurried = RerankSettings(llm=True, llm_seconds=0.02)
    found, state = await order([WriterJudge(FakeWriter({"scores": [1, 0, 0]}, seconds=30), hurried)], 0, 0, 0)
    assert ids(found) == ["c0", "c1", "c2"] and "longer than 0.02 s" in state


async def test_service_and_language_model_are_off_until_they_are_switched_on() -> None:
    """RE-13, RE-27: `rag_rerank_enabled` is false (X-23); settings are read each time, as rows may change them."""

    class Service:
        async def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.array([1.0, 0.0], dtype=np.float32)

    writer, now = FakeWriter({"scores": [0, 1]}), Changing(RerankSettings())
    both = [ServiceJudge(Service(), now), WriterJudge(writer, now)]  # type: ignore[arg-type]
    assert (await order(both, 0, 0))[1].startswith("off: no cross-encoder")
    now.settings = RerankSettings(llm=True)
    assert (await order(both, 0, 0))[1] == "on: the language model"
    now.settings = RerankSettings(llm=True, remote_enabled=True)
    assert (await order(both, 0, 0))[1] == "on: the reranking service" and both[0].most == 20
    assert len(writer.asked) == 1


async def test_a_service_without_an_address_is_told() -> None:
    """RE-13: switched on by a row, with nowhere to go."""
    nowhere = RerankSettings(remote_enabled=True)
    judge = ServiceJudge(RemoteReranker(nowhere, None, asyncio.sleep), nowhere)  # type: ignore[arg-type]
    assert (await order([judge], 0))[1] == "off: the reranking service: rerank.remote_enabled has no rerank.remote_url"


async def test_what_holds_the_question_literally_stays_in_front() -> None:
    """RE-02: a judge orders what holds an identifier among itself, and what does not behind it."""
    given = candidates(8.0, 4.0, 1.0)
    given[2] = Candidate("c2", "d", {**given[2].scores, "literal": 1})

    async def texts(ids: Sequence[str]) -> dict[str, str]:
        return {one: one for one in ids}

    found, state = await JudgeChain((Says([9.0, 5.0, -9.0]),), RerankSettings()).order(
        SCOPE, SearchQuery("q"), given, texts
    )
    assert state == "on" and ids(found) == ["c2", "c0", "c1"]
