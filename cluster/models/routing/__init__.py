"""Model routing: task, connection, fallback order, budgets."""
