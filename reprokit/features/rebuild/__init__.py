"""Builds images again, and compares their IDs."""
