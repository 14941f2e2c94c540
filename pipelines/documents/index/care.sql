-- worn: Whether the index for BM25 cannot be believed.
select keyword_index_worn() as answer;

-- drop_worn: Let it go, if it still is.
select drop_worn_keyword_index() as answer;

-- make: Make it, if it is gone.
select make_keyword_index() as answer;

-- graphs: Those there are, and how often their vectors were vacuumed.
select substring(relname from '[0-9]+$')::int as generation, vacuum_count + autovacuum_count as vacuums
from pg_stat_user_tables
where relname ~ '^embeddings_[0-9]+$' and to_regclass(relname || '_hnsw') is not null;

-- reach: The share of its own vectors that a graph finds, of some drawn at random.
select graph_reach(%(generation)s, %(vectors)s) as answer;

-- distrust: An index is not asked any more.
select distrust_index(%(name)s, %(why)s) as answer;

-- faulty: Graphs that are not asked.
select name from index_faults where name like 'embeddings%%' and renewed is null order by noticed;

-- renewed: An index is as good as new (for who owns it).
select index_renewed(%(name)s);
