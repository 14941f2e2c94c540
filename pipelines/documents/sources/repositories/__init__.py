"""Git repositories as sources: a mirror of one branch, packs that are looked at before they are taken, large files."""
