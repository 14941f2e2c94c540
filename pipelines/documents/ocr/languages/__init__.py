"""Script and language of each page, and its reading with what there is for them."""
