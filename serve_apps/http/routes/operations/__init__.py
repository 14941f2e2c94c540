"""Routes of operations: health, configuration, accounts, golden sets, audit."""
