-- worn: Whether the index for BM25 cannot be believed.
select keyword_index_worn() as answer;

-- drop_worn: Let it go, if it still is.
select drop_worn_keyword_index() as answer;

-- make: Make it, if it is gone.
select make_keyword_index() as answer;

-- probed: The indexes of both legs, of which generation (null for words), and how often their tables were vacuumed.
select i.indexrelname as name, substring(t.relname from '^embeddings_([0-9]+)$')::int as generation,
       t.vacuum_count + t.autovacuum_count as vacuums
from pg_stat_user_tables t join pg_stat_user_indexes i using (relid)
where i.indexrelname in ('document_chunks_bm25', t.relname || '_hnsw');

-- vectors_met: The share of its own vectors that a graph finds, of some drawn at random.
select graph_reach(%(generation)s, 100) as answer;

-- words_met: The share of chunks, of some drawn at random, that the keyword index finds by their own words.
select keyword_reach(20) as answer;

-- distrust: An index is not asked any more.
select distrust_index(%(name)s, %(why)s) as answer;

-- faulty: Graphs that are not asked.
select name from index_faults where name like 'embeddings%%' and renewed is null order by noticed;

-- renewed: An index is as good as new (for who owns it).
select index_renewed(%(name)s);
