"""Diagnosing: instrumented runs that show where two runs first differ, and which line causes it."""
