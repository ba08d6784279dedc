"""Curation: promoting, comparing, linting, pruning and exporting what runs leave behind."""
