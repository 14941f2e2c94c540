"""Memory of agents: guarded before it is written, cached in Redis, kept in Postgres."""
