"""Identity: tenants, workspaces, users, keys, sessions."""
