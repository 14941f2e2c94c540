"""Postgres: pool and scope, migrations, the embedded servers."""
