"""Tables: sums, counts, filters and comparisons over the cells of documents, as SQL that is shown with its rows."""
