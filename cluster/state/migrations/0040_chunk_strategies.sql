-- The strategy that a workspace's documents are cut by; null takes the settings'. A document may have one of its own.
alter table workspaces add column chunk_strategy text check (length(chunk_strategy) between 1 and 50);
alter table documents add column chunk_strategy text check (length(chunk_strategy) between 1 and 50);
