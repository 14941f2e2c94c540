"""Records: rows of tables, items of lists and elements that repeat, as the items of a schema's arrays."""
