"""The layout of a page: rows, columns and tables, told from where its words and its rules stand."""
