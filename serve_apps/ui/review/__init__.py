"""The page Review: pages that were read doubtfully, looked at and corrected beside their picture."""
