"""Settings as rows, snapshots of them, and requested restarts."""
