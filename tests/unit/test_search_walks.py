"""How far a graph is walked under a filter, and when every vector is measured in its place."""

import numpy as np
import pytest

from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.models.embedding.migration import VectorSpace
from configs.sections_retrieval import SearchSettings
from serve_apps.retrieval.search.query import SearchFilters, SearchQuery
from serve_apps.retrieval.search.statements import (
    ALL_LISTED,
    LEAST_FOUND,
    LONGEST_WALK,
    MOST_LISTED,
    IndexGeneration,
    RetrieverQueries,
)

SCOPE = Scope(TenantId("t"), WorkspaceId("w"), ("*",))
VECTOR = np.zeros(3, dtype=np.float32)


def index(*, small: bool = False, narrow: bool = False, whole: bool = False, few: bool = False) -> IndexGeneration:
    return IndexGeneration(
        7, VectorSpace("m", 3, "f"), "c", True, "document_chunks_bm25", small, whole, narrow=narrow, few=few
    )


def test_what_is_narrow_is_measured_though_its_words_are_ranked_by_the_index() -> None:
    assert index(narrow=True).vector_engine == "exact" and index(narrow=True).keyword_engine == "bm25"
    assert index().vector_engine == "hnsw" and index(small=True).vector_engine == "exact"


@pytest.mark.parametrize(
    ("limit", "fetch", "least"), [(10, 100, LEAST_FOUND), (30, 100, 60), (80, 100, 100), (5, 20, 20)]
)
def test_a_walk_is_done_with_fewer_than_its_depth_and_more_than_are_shown(limit: int, fetch: int, least: int) -> None:
    assert RetrieverQueries(SearchSettings(fetch=fetch)).least(SearchQuery("x", limit=limit)) == least


def test_a_walk_has_an_end() -> None:
    queries, agents = RetrieverQueries(SearchSettings()), SearchQuery("x", agent_id="a")
    read = queries.by_meaning(SCOPE, agents, index(), VECTOR)
    assert read.settings["hnsw.max_scan_tuples"] == str(LONGEST_WALK)
    assert "hnsw.max_scan_tuples" not in queries.by_meaning(SCOPE, agents, index(), VECTOR, exact=True).settings


def test_documents_are_asked_of_only_where_something_is_asked_of_them() -> None:
    queries = RetrieverQueries(SearchSettings())
    asked = SearchQuery("x", agent_id="a", filters=SearchFilters(doc_type="pdf"))
    assert queries.by_meaning(SCOPE, asked, index(), VECTOR).values["filtered"] is True
    assert queries.by_meaning(SCOPE, SearchQuery("x", agent_id="a"), index(), VECTOR).values["filtered"] is False


def test_the_list_is_the_agents_unless_it_may_search_all() -> None:
    queries, asked = RetrieverQueries(SearchSettings()), SearchQuery("x", agent_id="a")
    for whole, linked in ((False, "a"), (True, None)):
        found = index(small=True, few=True, whole=whole)
        for read in (
            queries.by_words(SCOPE, asked, found),
            queries.by_meaning(SCOPE, asked, found, VECTOR, exact=True),
        ):
            assert (read.values["few"], read.values["linked"]) == (True, linked)


def test_a_list_is_looked_up_wholly_though_it_grew_since_it_was_counted() -> None:
    """One that is longer than asked for is null and finds nothing; documents that nobody finds yet are on it, too."""
    queries, found, asked = RetrieverQueries(SearchSettings()), index(small=True, few=True), SearchQuery("x")
    for read in (queries.by_words(SCOPE, asked, found), queries.by_meaning(SCOPE, asked, found, VECTOR, exact=True)):
        assert read.values["most"] == ALL_LISTED > 1_000 * MOST_LISTED
    assert queries.count(SCOPE, asked, None).values["most"] == MOST_LISTED


def test_with_no_exact_scope_nothing_is_narrow() -> None:
    asked = SearchQuery("x")
    assert RetrieverQueries(SearchSettings(exact_scope=0)).count(SCOPE, asked, None).values["walk"] == 0
    assert RetrieverQueries(SearchSettings()).count(SCOPE, asked, None).values["walk"] == 200


def test_documents_are_counted_in_the_order_of_their_index() -> None:
    """A sort takes all of a workspace's documents, before the first is counted; what comes after may sort again."""
    queries, asked = RetrieverQueries(SearchSettings()), SearchQuery("x")
    assert queries.count(SCOPE, asked, None).settings["enable_sort"] == "off"
    assert queries.by_words(SCOPE, asked, index(small=True)).settings["enable_sort"] == "on"
    assert queries.by_words(SCOPE, asked, index()).settings["enable_sort"] == "off"
