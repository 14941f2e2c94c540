"""Rate limits and quotas: rules of tenants, what is counted against them, and who is refused."""
