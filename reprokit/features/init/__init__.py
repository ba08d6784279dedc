"""From someone's program to a recipe of it, by looking at it and by running it."""
