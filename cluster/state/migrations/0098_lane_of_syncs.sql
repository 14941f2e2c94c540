-- A lane for what sources list: rights and removals do not wait behind bytes.

alter table jobs drop constraint jobs_lane_check;
alter table jobs add constraint jobs_lane_check check (lane in ('small', 'sync', 'slow', 'bulk'));
