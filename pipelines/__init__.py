"""Documents in, pages accounted for, chunks indexed."""
