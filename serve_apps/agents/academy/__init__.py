"""The academy: an agent enrols, its references are read, it is examined, and graduates or does not."""
