"""Two minutes for a stranger: shipped runs, a recorded diagnosis, and a program with a fault to find."""
