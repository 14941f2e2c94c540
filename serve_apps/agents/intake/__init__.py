"""Turn intake: agent, session, path, tools and rights of a turn, frozen before it runs."""
