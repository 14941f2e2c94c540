"""Skills that run a command on another machine, whose key is known and whose address no argument decides."""
