"""Mail: EML, MSG, MHTML, their headers, parts and enclosed letters."""
