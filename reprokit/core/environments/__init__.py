"""Which facts of an environment can change numbers, and which claims about determinism hold there."""
