"""Lists the tables that documents hold, and asks them in SQL."""
