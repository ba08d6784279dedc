"""Runs over seeds and settings, each made once, and statistics over them."""
