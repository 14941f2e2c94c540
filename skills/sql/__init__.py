"""Skills that ask a database: a query with bound values, read-only by a parser and by the database itself."""
