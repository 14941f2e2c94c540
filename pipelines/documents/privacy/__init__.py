"""Personal data in texts: found by pattern and checksum, masked before it is kept."""
