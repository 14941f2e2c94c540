"""Reading from the web, from addresses that are allowed."""
