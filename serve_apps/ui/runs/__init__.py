"""The page Runs: what agents did, step by step, what waits for a person, and whether it comes out the same again."""
