-- lexemes: The words of texts as the keyword index knows them; stop words are gone, endings are cut.
select number, tsvector_to_array(words_of(aos_language(), content)) as words
from unnest(%(texts)s::text[]) with ordinality as given(content, number) order by number;

-- pages: Pages as they were read, of versions that readers see.
select p.version_id, p.number, p.text, p.words, p.engine, p.confidence,
       caveats_of(p.version_id, array[p.number]) as caveats
from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and d.workspace_id = %(workspace)s
  and (p.version_id, p.number) in (
      select wanted.version_id, wanted.number
      from unnest(%(versions)s::text[], %(numbers)s::int[]) as wanted(version_id, number));
