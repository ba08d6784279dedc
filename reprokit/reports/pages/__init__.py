"""Answers of verbs as lines for people, one module for each."""
