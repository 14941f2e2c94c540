-- invalid: Indexes that Postgres does not use, as what made them was broken off.
select i.indexrelid::regclass::text as name, c.relname ~ '_cc(new|old)[0-9]*$' as leftover,
       exists (select from pg_constraint k where k.conindid = i.indexrelid) as of_key
from pg_index i join pg_class c on c.oid = i.indexrelid
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
where c.relkind = 'i' and not (i.indisvalid and i.indisready)
  -- one that is being made right now is not valid either
  and not exists (select from pg_stat_progress_create_index p where p.index_relid = i.indexrelid)
order by 1;

-- worn: Whether the index for BM25 is missing, or cannot be believed.
select keyword_index_worn() as worn;

-- drop_worn: Let it go, if it still is.
select drop_worn_keyword_index() as went;

-- make: Make it, if it is gone.
select make_keyword_index() as made;

-- partitions: Generations of vectors, with the table of each, and which columns its indexes begin with or hold.
select g.id as generation, to_regclass('embeddings_' || g.id)::text as name,
       array(select string_agg(a.attname::text, ',' order by n)
             from pg_index i cross join unnest(i.indkey::int2[]) with ordinality u(attnum, n)
             join pg_attribute a on a.attrelid = i.indrelid and a.attnum = u.attnum
             where i.indrelid = to_regclass('embeddings_' || g.id) and i.indisvalid group by i.indexrelid) as indexed,
       to_regclass('embeddings_' || g.id || '_hnsw') is not null as graph,
       -- what fills a generation builds its graph when it has ended
       exists (select from jobs j where j.state in ('queued', 'running')
               and (j.kind = 'reindex' or exists (select from workspaces w
                                                  where w.id = j.workspace_id and w.generation_id = g.id))) as filling
from generations g order by g.id;

-- size: Rows of a partition, as far as they matter.
select count(*) as rows from (select from embeddings e where e.generation_id = %(generation)s limit %(most)s) held;

-- index_generation: Build the graph where a generation has outgrown exact scans.
select index_generation(%(generation)s, %(rows)s) as built;
