"""A finished run in the forms of experiment trackers: its metrics, and what the newest report says of it."""
