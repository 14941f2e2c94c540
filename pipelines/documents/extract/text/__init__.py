"""Text formats: character sets, HTML, notebooks, SVG, RTF and EPUB."""
