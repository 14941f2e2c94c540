-- worn: Whether the index for BM25 cannot be believed.
select keyword_index_worn() as answer;

-- drop_worn: Let it go, if it still is.
select drop_worn_keyword_index() as answer;

-- make: Make it, if it is gone.
select make_keyword_index() as answer;

-- probed: The indexes of both legs that are asked, of which generation (null for words), how often their tables were
-- vacuumed, and whether they were made anew within a day.
select asked.name, substring(t.relname from '^embeddings_([0-9]+)$')::int as generation,
       t.vacuum_count + t.autovacuum_count as vacuums, coalesce(f.made > now() - interval '1 day', false) as young
from pg_stat_user_tables t
join pg_stat_user_indexes i using (relid)
cross join (select keyword_index() as name offset 0) words
cross join lateral (select case when i.indexrelname = words.name then 'document_chunks_bm25'
                                else i.indexrelname end as name) asked
left join index_faults f on f.name = asked.name
where (i.indexrelname = words.name
       or t.relname ~ '^embeddings_[0-9]+$' and i.indexrelname = t.relname || '_hnsw')
  and (f.name is null or f.renewed is not null);

-- vectors_met: The share of its own vectors that a graph finds, of some drawn at random.
select graph_reach(%(generation)s, 100) as answer;

-- words_met: The share of chunks, of some drawn at random, that the keyword index finds by their own words.
select keyword_reach(20) as answer;

-- distrust: An index is not asked any more.
select distrust_index(%(name)s, %(why)s) as answer;

-- faulty: Graphs that are not asked, but for those that were made anew within a day: that takes half an hour.
select name from index_faults
where name like 'embeddings%%' and renewed is null and to_regclass(name) is not null
  and (made between now() - interval '1 day' and now()) is not true
order by noticed;

-- renewed: An index is as good as new (for who owns it).
select index_renewed(%(name)s);

-- graph_memory: Give this session the memory that a graph is built in; one that outgrows it is continued on disk, slowly.
select set_config('maintenance_work_mem', graph_megabytes(greatest(c.reltuples, 0)::bigint, g.dimension) || 'MB', false)
from generations g join pg_class c on c.oid = to_regclass('embeddings_' || g.id)
where 'embeddings_' || g.id || '_hnsw' = %(name)s;
