"""The HTTP client of skills: guarded addresses, logins, answers as JSON, endpoints from a manifest."""
