"""PDF: native text, layout, tables, annotations, and which parts OCR has to read."""
