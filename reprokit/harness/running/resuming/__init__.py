"""Stopping a run on its way and going on from what it left."""
