"""Configuration: layered values and the one reader of them."""
