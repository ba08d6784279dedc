"""A run under varied conditions: what can be varied here, how, and whether it was in force."""
