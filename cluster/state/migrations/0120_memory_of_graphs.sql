-- The memory that a graph may take while it is built is read as what it is said to be, and refused in a sentence else.
-- Held locks: none.
-- Old code: runs beside it.

-- As before; `aos.graph_memory_mb` is a plain number of megabytes. Postgres gives every name with a dot to whoever reads
-- it, and checks nothing.
create or replace function graph_megabytes(vectors bigint, dims int) returns bigint language plpgsql stable as $$
declare
    said text := nullif(trim(current_setting('aos.graph_memory_mb', true)), '');
    most bigint := 4096;
begin
    if said is not null then
        if said !~ '^[0-9]{1,9}$' then
            raise exception 'aos.graph_memory_mb is a number of megabytes, such as 8192, and not %', quote_literal(said)
                using errcode = 'invalid_parameter_value',
                      hint = 'alter database ... set aos.graph_memory_mb = 8192';
        end if;
        most := said::bigint;
    end if;
    return greatest(512, least(vectors * (2 * dims + 450) * 5 / 4 / 1048576, most));
end $$;
