"""Skills that start a program of this machine: off by default, and only programs that the settings name."""
