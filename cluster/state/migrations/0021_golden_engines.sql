-- Which engines answered a golden question: a run in which they changed is a failure, also when it was resumed.

alter table golden_results add column engines jsonb not null default '{}';
