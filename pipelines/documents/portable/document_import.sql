-- lock: The index that readers use, held against a switch, and against others who change what is found.
select w.generation_id, w.language from workspaces w
where w.id = %(workspace)s and w.tenant_id = %(tenant)s for no key update;

-- put_document: A document; none where it is there. Its readers are its own or its folder's, as they were.
insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status, failure, readers, tags,
                       description, metadata, created_by, current_version, chunk_count, has_embeddings, upload_date,
                       processed_date, caveats, chunk_strategy, classification, classification_rank, classified_by)
values (%(id)s, %(tenant)s, %(workspace)s, %(origin)s, %(filename)s, %(file_type)s, %(source_type)s, %(status)s,
        %(failure)s::jsonb, %(readers)s, %(tags)s, %(description)s, %(metadata)s::jsonb, %(created_by)s::uuid, %(version)s,
        %(chunk_count)s, %(has_embeddings)s, %(upload_date)s, %(processed_date)s, %(caveats)s::jsonb, %(chunk_strategy)s,
        %(classification)s, %(classification_rank)s, %(classified_by)s)
on conflict (id) do nothing;

-- own_readers: Whether its folder's readers may change them: those that it has from there.
update documents d set own_readers = %(own)s
where d.id = %(id)s and d.workspace_id = %(workspace)s and d.readers = %(readers)s and d.own_readers <> %(own)s
  and (%(own)s or d.readers = inherited_readers(d.workspace_id, d.origin));

-- readers: Who may see a document now; its folder may have said so.
select d.readers from documents d where d.id = %(id)s and d.workspace_id = %(workspace)s;

-- put_versions: Its versions, with where their bytes are.
insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind, location, page_count,
                               reads, tables_of_reads, created_at)
select r.version_id, %(document)s, %(tenant)s, %(workspace)s, r.file_hash, r.file_size, r.kind, r.location, r.page_count,
       r.reads, r.tables_of_reads, r.created_at
from jsonb_to_recordset(%(rows)s) as r(version_id text, file_hash text, file_size bigint, kind text, location text,
    page_count int, reads bigint, tables_of_reads bigint, created_at timestamptz);

-- put_pages: Pages as they were read, with what read them.
insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, words, engine, confidence, attempts,
                   ms, fingerprint, failure, read_at, caveats, reading, revision, reviewed_at, reviewed_by, personal_data)
select r.version_id, r.page, r.id, %(document)s, %(tenant)s, %(workspace)s, r.text, r.words::jsonb, r.engine, r.confidence,
       r.attempts::jsonb, r.ms, r.fingerprint, r.failure::jsonb, r.read_at, r.caveats::jsonb, r.reading::jsonb, r.revision,
       r.reviewed_at, r.reviewed_by, r.personal_data::jsonb
from jsonb_to_recordset(%(rows)s) as r(version_id text, page int, id text, text text, words text, engine text,
    confidence real, attempts text, ms int, fingerprint text, failure text, read_at timestamptz, caveats text, reading text,
    revision int, reviewed_at timestamptz, reviewed_by uuid, personal_data text);

-- put_tables: Their tables.
insert into page_tables (version_id, ordinal, page, document_id, tenant_id, workspace_id, headings, row_count, content)
select r.version_id, r.ordinal, r.page, %(document)s, %(tenant)s, %(workspace)s, r.headings, r.row_count, r.content::jsonb
from jsonb_to_recordset(%(rows)s) as r(version_id text, ordinal int, page int, headings text[], row_count int, content text);

-- put_corrections: What people corrected.
insert into page_corrections (id, document_id, version_id, file_hash, page, revision, tenant_id, workspace_id, user_id, at,
                              line, start_at, text_before, text_after, whole, box, reembedded, searchable, unplaced_in)
select r.id, %(document)s, r.version_id, r.file_hash, r.page, r.revision, %(tenant)s, %(workspace)s, r.user_id, r.at, r.line,
       r.start_at, r.text_before, r.text_after, r.whole, r.box::jsonb, r.reembedded, r.searchable, r.unplaced_in
from jsonb_to_recordset(%(rows)s) as r(id uuid, version_id text, file_hash text, page int, revision int, user_id uuid,
    at timestamptz, line int, start_at int, text_before text, text_after text, whole boolean, box text, reembedded int,
    searchable text, unplaced_in text[]);

-- put_chunks: Its chunks.
insert into document_chunks (id, document_id, version_id, tenant_id, workspace_id, readers, chunker, chunk_index, text,
                             search_text, page_start, page_end, spans, boxes, headings, metadata, language, engine,
                             confidence, caveats)
select r.id, %(document)s, r.version_id, %(tenant)s, %(workspace)s, %(readers)s, %(chunker)s, r.ordinal, r.text,
       r.search_text, r.page_start, r.page_end, r.spans::jsonb, r.boxes::jsonb, r.headings,
       r.metadata::jsonb || jsonb_build_object('doc_id', %(document)s::text), r.language, r.engine, r.confidence,
       r.caveats::jsonb
from jsonb_to_recordset(%(rows)s) as r(id text, version_id text, ordinal int, text text, search_text text, page_start int,
    page_end int, spans text, boxes text, headings text[], metadata text, language text, engine text, confidence real,
    caveats text);

-- note_stemmers: In which languages the words of the workspace's chunks are cut by now.
select note_stemmers(%(languages)s::text[]);

-- put_vectors: Their vectors.
insert into embeddings (generation_id, chunk_id, document_id, tenant_id, workspace_id, readers, embedding)
select %(generation)s, r.id, %(document)s, %(tenant)s, %(workspace)s, %(readers)s, r.vector::vector
from unnest(%(ids)s::text[], %(vectors)s::text[]) as r(id, vector);

-- put_indexed: What the index holds of it.
insert into indexed_versions (generation_id, version_id, document_id, tenant_id, workspace_id, reads, chunks, embedded)
select %(generation)s, r.version_id, %(document)s, %(tenant)s, %(workspace)s, r.reads, r.chunks, r.embedded
from jsonb_to_recordset(%(rows)s) as r(version_id text, reads bigint, chunks int, embedded boolean);

-- without_tables: Tables that were found in a text that is masked by now show what the mask covers; they are looked for anew.
update document_versions v set tables_of_reads = -1
where v.document_id = %(document)s and v.workspace_id = %(workspace)s and v.tenant_id = %(tenant)s;

-- without_vectors: It is found by its words until somebody embeds it, and says so.
update documents d set has_embeddings = false,
    status = case when d.status = 'completed' then 'embedding_pending' else d.status end
where d.id = %(document)s and d.workspace_id = %(workspace)s;

-- put_entities: Names that are new in the workspace.
insert into entities (id, tenant_id, workspace_id, type, canonical_name)
select r.id, %(tenant)s, %(workspace)s, r.type, r.name
from (select distinct on (id) id, type, name from jsonb_to_recordset(%(rows)s) as r(id text, type text, name text)) r
order by r.id on conflict (id) do nothing;

-- put_mentions: Where it names them.
insert into entity_mentions (entity_id, version_id, page, document_id, tenant_id, workspace_id, type, name, alias, start_at,
                             end_at, quote_start, quote_end, occurrences, confidence, found_by)
select r.entity_id, r.version_id, r.page, %(document)s, %(tenant)s, %(workspace)s, r.type, r.name, r.alias, r.start_at,
       r.end_at, r.quote_start, r.quote_end, r.occurrences, r.confidence, r.found_by
from jsonb_to_recordset(%(rows)s) as r(entity_id text, version_id text, page int, type text, name text, alias text,
    start_at int, end_at int, quote_start int, quote_end int, occurrences int, confidence real, found_by text);

-- put_relations: Relations that are new in the workspace.
insert into relations (id, tenant_id, workspace_id, source_id, target_id, type)
select r.id, %(tenant)s, %(workspace)s, r.source_id, r.target_id, r.type
from (select distinct on (id) * from jsonb_to_recordset(%(rows)s) as r(id text, source_id text, target_id text, type text)) r
order by r.id on conflict (id) do nothing;

-- put_evidence: The sentences that say them.
insert into relation_evidence (relation_id, version_id, page, start_at, end_at, document_id, tenant_id, workspace_id,
                               evidence, strength, found_by)
select r.id, r.version_id, r.page, r.start_at, r.end_at, %(document)s, %(tenant)s, %(workspace)s, r.evidence, r.strength,
       r.found_by
from jsonb_to_recordset(%(rows)s) as r(id text, version_id text, page int, start_at int, end_at int, evidence text,
    strength real, found_by text)
on conflict do nothing;

-- put_graphs: What was looked for in its text, by which rules.
insert into graph_versions (version_id, document_id, tenant_id, workspace_id, reads, fingerprint, entities, relations, note)
select r.version_id, %(document)s, %(tenant)s, %(workspace)s, r.reads, r.fingerprint, r.entities, r.relations, r.note
from jsonb_to_recordset(%(rows)s) as r(version_id text, reads bigint, fingerprint text, entities int, relations int,
    note text);

-- put_links: The agents that search it.
insert into document_agent_links (agent_id, document_id, tenant_id, workspace_id)
select a.id, %(document)s, %(tenant)s, %(workspace)s
from agents a where a.id = any(%(agents)s::uuid[]) and a.workspace_id = %(workspace)s
on conflict do nothing;

-- join_readers: Readers of a document that is there, with those that were brought.
update documents d set readers = %(readers)s
where d.id = %(document)s and d.workspace_id = %(workspace)s and d.tenant_id = %(tenant)s and d.readers <> '{}';
