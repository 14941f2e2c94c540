-- How a chunk's pages were read, beside its text: search shows both, and to look into its pages each time costs more
-- than to load the chunk.
alter table document_chunks add column engine text, add column confidence real;

-- Which engines read some pages of a version, and how sure OCR was of them; null where they hold native text.
create function reading_of(v_id text, first_page int, last_page int, out engine text, out confidence real)
language sql stable as $$
    select string_agg(distinct p.engine, '+' order by p.engine),
           (avg(p.confidence) filter (where p.engine <> 'native'))::real
    from pages p where p.version_id = v_id and p.number between first_page and last_page
$$;
grant execute on function reading_of to aos_app;

update document_chunks c set engine = r.engine, confidence = r.confidence
from (select k.id, f.* from document_chunks k, reading_of(k.version_id, k.page_start, k.page_end) f) r
where r.id = c.id;
