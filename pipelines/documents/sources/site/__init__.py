"""A web site as a source: its pages asked politely, what is remembered of them, and what counts as a page."""
