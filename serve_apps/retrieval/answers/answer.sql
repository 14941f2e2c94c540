-- lexemes: The words of texts, each in its language, as the keyword index knows them; stop words are gone, endings are
-- cut.
select number, tsvector_to_array(words_of(stemmer, content)) as words
from unnest(%(texts)s::text[], %(stemmers)s::text[]) with ordinality as given(content, stemmer, number) order by number;

-- asked: The words of a question in one language as they are cut in each of some.
select stemmer, tsvector_to_array(asked_words_as(%(own)s, stemmer, %(question)s)) as words
from unnest(%(stemmers)s::text[]) stemmer;

-- pages: Pages as they were read, of versions that readers see.
select p.version_id, p.number, p.text, p.words, p.engine, p.confidence,
       caveats_of(p.version_id, array[p.number]) as caveats
from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and d.workspace_id = %(workspace)s
  and (p.version_id, p.number) in (
      select wanted.version_id, wanted.number
      from unnest(%(versions)s::text[], %(numbers)s::int[]) as wanted(version_id, number));

-- edges: The beginnings and the ends of the first pages of versions that readers see; of page 1 more.
select p.version_id, p.number, left(p.text, case p.number when 1 then 1500 else 400 end) as top,
       right(p.text, 400) as bottom
from pages p join documents d on d.id = p.document_id and d.current_version = p.version_id
where p.tenant_id = %(tenant)s and p.workspace_id = %(workspace)s and d.workspace_id = %(workspace)s
  and p.version_id = any(%(versions)s::text[]) and p.number <= 12
order by p.version_id, p.number;
