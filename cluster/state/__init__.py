"""Durable state, which survives a restart: Postgres, and the ledger in it."""
