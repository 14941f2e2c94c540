"""Spreadsheets (XLSX, XLS, CSV, SpreadsheetML) as Markdown tables with their cells as shown."""
