"""Curves and plots as geometry, and a comparison as one picture."""
