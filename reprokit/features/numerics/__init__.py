"""Portability: whether a golden holds on other CPUs, and which operation does not."""
