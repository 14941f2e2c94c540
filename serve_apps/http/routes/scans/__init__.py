"""Routes of scans: folders that are scanned, and the languages of what is on the pictures."""
