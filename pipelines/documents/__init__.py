"""Documents: their values, and how one is read, split and indexed; no Ray in here."""
