"""Facts: the fields of forms and the cells of tables, each with the headings that say what it is the value of."""
