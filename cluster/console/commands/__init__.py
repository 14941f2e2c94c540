"""The commands of `aos`."""
