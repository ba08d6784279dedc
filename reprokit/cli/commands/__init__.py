"""The verbs of the core, one module each."""
