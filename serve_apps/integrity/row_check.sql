-- pages: How many pages of Postgres a table has.
select pg_relation_size(%(table)s::regclass) / current_setting('block_size')::bigint as pages;

-- count: How many rows of some pages fulfil the condition, and the names of a few.
select count(*) as total, (array_agg({name}))[1:%(most)s] as names
from {table} x where x.ctid >= %(first)s::tid and x.ctid < %(end)s::tid and {condition};

-- some: The next of those, with whose they are.
select x.ctid::text as place, {name} as name, {tenant} as tenant, {workspace} as workspace
from {table} x where x.ctid > %(after)s::tid and x.ctid < %(end)s::tid and {condition}
order by x.ctid limit %(most)s;

-- delete: Those that still fulfil it go.
delete from {table} x where x.ctid = any(%(places)s::tid[]) and {condition} returning {name} as name;

-- set: Those that still fulfil it are set right.
update {table} x set {mend} where x.ctid = any(%(places)s::tid[]) and {condition} returning {name} as name;
