"""Routes of uploads in parts: the product's own protocol, and tus for standard clients."""
