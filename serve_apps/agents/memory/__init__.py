"""What agents remember: guarded before it is written, cached in Redis, kept in Postgres."""
