-- Claims of a job in a row after which nothing more of it was settled, and how many units were when the last one ended.
alter table jobs add column vain_claims int not null default 0;
alter table jobs add column settled_units bigint not null default -1;
