"""Runs over several seeds and settings: what was asked for, what is there already, and the rest made."""

from reprokit.harness.sweeping.asked import parse_seeds, settings_grid

__all__ = ["parse_seeds", "settings_grid"]
