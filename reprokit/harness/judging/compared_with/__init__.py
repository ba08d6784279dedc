"""What runs are compared with: a golden, one that they were stopped at, or a finished run in its place."""
