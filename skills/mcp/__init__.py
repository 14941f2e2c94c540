"""Tools of other people's servers over the Model Context Protocol: over HTTP, or of a program that is started here."""
