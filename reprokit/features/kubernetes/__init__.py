"""Recipes and sweeps as jobs for Kubernetes."""
