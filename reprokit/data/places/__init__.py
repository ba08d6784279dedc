"""Kinds of places that data is fetched from, one module each."""
