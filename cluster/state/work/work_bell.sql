-- listen: Be told of work that may be claimed, by whatever transaction.
listen aos_work;

-- probe: Tell a word, to hear whether it arrives.
select pg_notify('aos_work', %(word)s);
