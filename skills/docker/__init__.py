"""Skills that use a container engine: the one that the settings name, and never one that the environment does."""
