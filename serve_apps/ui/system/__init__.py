"""The page System: settings, models, people, keys, credentials, schedules, the audit trail, workspaces."""
