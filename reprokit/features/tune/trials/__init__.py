"""The trials of a search: their settings, their runs, what each came to, when one is stopped."""
