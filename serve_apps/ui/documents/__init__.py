"""The page Documents: find one, look at its pages as they were read, link it to agents, process it again, delete it."""
