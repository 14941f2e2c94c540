-- page: The golden sets of a workspace by name, each with its questions counted and its latest run.
select s.id, s.name, s.description, s.gate, s.least_recall, s.created_at, s.updated_at,
       (select count(*) from golden_questions q where q.set_id = s.id and q.workspace_id = s.workspace_id) as questions,
       (select r.id from golden_runs r where r.set_id = s.id and r.workspace_id = s.workspace_id
        order by r.created_at desc, r.id limit 1) as last_run
from golden_sets s where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s
  and (%(set)s::uuid is null or s.id = %(set)s::uuid)
order by s.name offset %(skip)s limit %(limit)s;

-- count: How many sets a workspace has.
select count(*) as total from golden_sets s where s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s;

-- add: A new set; no row where the name is taken.
insert into golden_sets (tenant_id, workspace_id, name, description, gate, least_recall, created_by)
values (%(tenant)s, %(workspace)s, %(name)s, %(description)s, %(gate)s, %(least_recall)s, %(user)s)
on conflict (workspace_id, name) do nothing returning id;

-- change: What a set is called and what it guards.
update golden_sets s set name = %(name)s, description = %(description)s, gate = %(gate)s,
    least_recall = %(least_recall)s, updated_at = clock_timestamp()
where s.id = %(set)s and s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s and not exists (
    select from golden_sets o where o.workspace_id = %(workspace)s and o.name = %(name)s and o.id <> s.id)
returning s.id;

-- remove: A set with its questions and its runs.
delete from golden_sets where id = %(set)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s returning id;

-- hold: The set, locked while its questions change.
select s.id from golden_sets s where s.id = %(set)s and s.workspace_id = %(workspace)s and s.tenant_id = %(tenant)s
for update;

-- touched: When its questions changed.
update golden_sets set updated_at = clock_timestamp()
where id = %(set)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s;

-- put_questions: Add questions, or change those with the same key.
insert into golden_questions (set_id, tenant_id, workspace_id, key, question, documents, passages, answers, answerable,
                              created_by)
select %(set)s, %(tenant)s, %(workspace)s, q->>'key', q->>'question',
       array(select jsonb_array_elements_text(q->'documents')), array(select jsonb_array_elements_text(q->'passages')),
       array(select jsonb_array_elements_text(q->'answers')), (q->>'answerable')::boolean, %(user)s
from jsonb_array_elements(%(questions)s) with ordinality e(q, place) order by place
on conflict (set_id, key) do update set question = excluded.question, documents = excluded.documents,
    passages = excluded.passages, answers = excluded.answers, answerable = excluded.answerable;

-- remove_others: Questions whose keys are not among the given.
delete from golden_questions where set_id = %(set)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and key <> all(%(keys)s::text[]);

-- remove_question: One question.
delete from golden_questions where set_id = %(set)s and workspace_id = %(workspace)s and tenant_id = %(tenant)s
  and key = %(key)s returning key;

-- questions: Questions in their order.
select q.key, q.question, q.documents, q.passages, q.answers, q.answerable from golden_questions q
where q.set_id = %(set)s and q.workspace_id = %(workspace)s and q.tenant_id = %(tenant)s
order by q.position offset %(skip)s limit %(limit)s;

-- count_questions: How many there are.
select count(*) as total from golden_questions q
where q.set_id = %(set)s and q.workspace_id = %(workspace)s and q.tenant_id = %(tenant)s;
