"""Authentication and authorization: login, tokens, guard, permission matrix, throttling."""
