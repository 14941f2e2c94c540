-- A plan that is kept for any question and any tenant walks what it should look up: after some twenty questions with an
-- identifier, of a big tenant and a small one by turns, each took ten seconds at 100,000 chunks. Since version 18 Postgres
-- keeps such plans for functions too. To plan takes a few milliseconds, so these are planned for what they are asked.
alter function holding_literally(
    text[], text[], int, text[], text, text, text, text, timestamptz, timestamptz, text[], uuid)
    set plan_cache_mode = 'force_custom_plan';
alter function rank_full_text(
    text, int, text, text, text, text, timestamptz, timestamptz, text[], uuid)
    set plan_cache_mode = 'force_custom_plan';
alter function entities_named(text[], text[], text, text, uuid, real, int) set plan_cache_mode = 'force_custom_plan';
