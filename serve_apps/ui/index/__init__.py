"""The page Index: generations of the workspace's index, golden sets that guard it, and the semantic cache."""
