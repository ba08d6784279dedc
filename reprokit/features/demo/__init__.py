"""Finds the commit that changed a recipe's numbers."""
