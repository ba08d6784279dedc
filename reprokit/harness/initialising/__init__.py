"""Initialising: from someone's program to a recipe of it, by looking at it and by running it."""

from reprokit.harness.initialising.proposal import Proposal

__all__ = ["Proposal"]
