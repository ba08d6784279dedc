"""The formats of a report, and what of it they share."""
