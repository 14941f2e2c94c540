-- told: What a session of the user's own has told since its episode was written: its summary and what they said after it.
select (select coalesce(max(m.seq), 0) from messages m
        where m.session_id = s.id and m.tenant_id = s.tenant_id and m.workspace_id = s.workspace_id) as upto,
    coalesce(e.upto_seq, 0) as known, s.title, coalesce(y.summary, '') as summary,
    (select coalesce(array_agg(m.content ->> 'text' order by m.seq desc), '{}'::text[]) from (
        select n.seq, n.content from messages n
        where n.session_id = s.id and n.tenant_id = s.tenant_id and n.workspace_id = s.workspace_id
          and n.role = 'user' and n.seq > coalesce(y.upto_seq, 0)
        order by n.seq desc limit %(most)s) m) as said
from sessions s
left join episodes e on e.session_id = s.id and e.tenant_id = s.tenant_id and e.workspace_id = s.workspace_id
left join session_summaries y
    on y.session_id = s.id and y.tenant_id = s.tenant_id and y.workspace_id = s.workspace_id
where s.id = %(session)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.user_id = %(user)s;

-- write: A session's episode as it is now; one that reaches less far changes nothing, another text has no vector yet.
insert into episodes as e (session_id, tenant_id, workspace_id, upto_seq, text)
select s.id, s.tenant_id, s.workspace_id, %(upto)s, %(text)s from sessions s
where s.id = %(session)s and s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.user_id = %(user)s
on conflict (session_id) do update
set upto_seq = excluded.upto_seq, text = excluded.text, updated_at = clock_timestamp(),
    embedding = case when e.text = excluded.text then e.embedding end,
    made_with = case when e.text = excluded.text then e.made_with else '' end
where e.upto_seq < excluded.upto_seq and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s;

-- unembedded: What of a user's memory this embedder has made no vector of, the newest first.
(select 'episode' as kind, e.session_id as id, e.text, e.updated_at as at from episodes e
 join sessions s on s.id = e.session_id and s.tenant_id = e.tenant_id and s.workspace_id = e.workspace_id
 where e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s and s.user_id = %(user)s and e.made_with <> %(made)s)
union all
(select 'fact', f.id, f.fact, f.created_at from facts f
 where f.tenant_id = %(tenant)s and f.workspace_id = %(workspace)s and f.user_id = %(user)s and f.made_with <> %(made)s)
order by at desc limit %(limit)s;

-- embed_episodes: Their vectors, where the text is still the one that was embedded.
update episodes e set embedding = n.vector::vector, made_with = %(made)s
from unnest(%(ids)s::uuid[], %(texts)s::text[], %(vectors)s::text[]) as n(id, text, vector)
where e.session_id = n.id and e.text = n.text and e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s;

-- embed_facts: Their vectors.
update facts f set embedding = n.vector::vector, made_with = %(made)s
from unnest(%(ids)s::uuid[], %(texts)s::text[], %(vectors)s::text[]) as n(id, text, vector)
where f.id = n.id and f.fact = n.text and f.tenant_id = %(tenant)s and f.workspace_id = %(workspace)s;

-- past: Episodes of the user's other sessions with an agent, the nearest first, then the newest; an exact scan. Only
-- vectors of this embedder are compared.
select e.session_id, e.text, e.updated_at,
    case when %(made)s::text <> '' and e.made_with = %(made)s then 1 - (e.embedding <=> %(vector)s::vector) end
        as similarity
from episodes e
join sessions s on s.id = e.session_id and s.tenant_id = e.tenant_id and s.workspace_id = e.workspace_id
where e.tenant_id = %(tenant)s and e.workspace_id = %(workspace)s and s.user_id = %(user)s
  and s.agent_id = %(agent)s::uuid and s.id <> %(session)s
order by similarity desc nulls last, e.updated_at desc limit %(limit)s;

-- near_facts: Facts of the user with an agent, the nearest first; an exact scan over vectors of this embedder.
select f.category, f.importance, f.fact, 1 - (f.embedding <=> %(vector)s::vector) as similarity
from (select x.* from facts x
      join sessions s on s.id = x.session_id and s.tenant_id = x.tenant_id and s.workspace_id = x.workspace_id
      where x.tenant_id = %(tenant)s and x.workspace_id = %(workspace)s and x.user_id = %(user)s
        and (x.session_id = %(session)s or s.agent_id = %(agent)s::uuid) and x.made_with = %(made)s
      offset 0) f
order by similarity desc limit %(limit)s;
