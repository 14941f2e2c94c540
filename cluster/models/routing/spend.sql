-- add: Count one reply to the month of an agent; many at once add up.
insert into spend (tenant_id, workspace_id, agent_id, month, calls, prompt_tokens, completion_tokens, cost_usd)
values (%(tenant)s, %(workspace)s, %(agent)s, %(month)s, 1, %(prompt_tokens)s, %(completion_tokens)s, %(cost)s)
on conflict (workspace_id, agent_id, month) do update set
    calls = spend.calls + 1,
    prompt_tokens = spend.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = spend.completion_tokens + excluded.completion_tokens,
    cost_usd = spend.cost_usd + excluded.cost_usd
where spend.tenant_id = %(tenant)s;

-- use: Count what a reply took to the periods for which limits may be.
select count_usage('tokens', %(workspace)s, %(user)s, null, %(prompt_tokens)s + %(completion_tokens)s, %(now)s),
       count_usage('usd', %(workspace)s, %(user)s, null, %(cost)s, %(now)s);

-- spent: What an agent and its whole tenant have spent in a month, and what the tenant may spend.
select
    coalesce((select cost_usd from spend where tenant_id = %(tenant)s and workspace_id = %(workspace)s
              and agent_id = %(agent)s and month = %(month)s), 0) as agent_usd,
    tenant_spent(%(month)s) as tenant_usd,
    (select budget_usd from tenants where id = %(tenant)s) as tenant_budget;

-- by_agent: What the agents of a workspace have spent in a month, the dearest first.
select s.agent_id, a.name, s.calls, s.prompt_tokens, s.completion_tokens, s.cost_usd
from spend s join agents a on a.id = s.agent_id and a.workspace_id = s.workspace_id
where s.tenant_id = %(tenant)s and s.workspace_id = %(workspace)s and s.month = %(month)s
order by s.cost_usd desc, a.name;
