"""Corrections of pages by people: lines, edits of them, and their place in another reading of the page."""
