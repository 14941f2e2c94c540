"""Building blocks of the console's pages, and its client of the HTTP API."""
