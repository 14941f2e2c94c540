"""Documents, versions, pages, blobs and agent links as rows."""
