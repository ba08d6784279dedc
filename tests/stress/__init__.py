"""Harm done to the tool while it works: see kill_and_fill.py."""
