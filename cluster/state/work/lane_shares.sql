-- beyond_share: Those of these jobs that are at work beyond their tenant's share while another tenant has work in the lane.
select job_id from jobs_beyond_share(%(lane)s, %(jobs)s::uuid[]);
