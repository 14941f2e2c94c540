"""Skills that ask GraphQL services."""
