"""Finds the package, and its release, that changed a recipe's numbers."""
