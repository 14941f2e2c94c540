-- What the id of a use says: it is made of its answer's id, by a rule that anybody can follow.
comment on column context_usage.use_id is
    'UUID version 5 of the answer''s id. Whoever has the id of an answer can make it, and find the rows of that answer; from '
    'it alone no id of an answer can be made. The API shows it to nobody.';
