"""From the text of pages to passages worth finding."""
