"""Parts of `make bench-10m`: a synthetic corpus that grows, its true neighbours, measurements and curves."""
