"""Stopping a run on its way and continuing from what it left."""
