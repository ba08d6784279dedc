"""Judging: from run folders to evidence, and from evidence to a report with its wording."""
