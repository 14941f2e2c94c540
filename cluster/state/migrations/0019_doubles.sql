-- What clients send as a number of JSON is a double: a smaller type would refuse the smallest of them as out of range.
alter table golden_sets alter column least_recall type double precision using least_recall::text::double precision;
alter table llm_connections alter column seconds type double precision using seconds::text::double precision;
alter table academy_reports alter column pass_mark type double precision using pass_mark::text::double precision;
