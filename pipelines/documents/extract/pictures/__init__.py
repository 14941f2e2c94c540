"""Pictures as pages, and those embedded in office files."""
