"""The reproducibility statement that conferences ask for."""
