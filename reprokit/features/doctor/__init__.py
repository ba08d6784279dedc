"""Checks whether this host is ready."""
