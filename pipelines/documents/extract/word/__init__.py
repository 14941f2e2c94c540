"""DOCX: body, numbering, styles, equations and imported parts as Markdown."""
