"""Numbers in printed lines, with and without a recipe's patterns."""
