"""Skills that read web pages: their text, their tables, their links, what a selector finds."""
