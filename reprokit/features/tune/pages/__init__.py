"""A search as lines, as charts and as a page."""
