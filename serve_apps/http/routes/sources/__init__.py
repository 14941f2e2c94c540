"""Routes of sources that are synchronised."""
