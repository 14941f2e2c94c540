"""Questions about the product's own figures, answered by templates from a catalogue of metrics."""
