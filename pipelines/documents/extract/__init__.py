"""From bytes of one format to the text of one page."""
