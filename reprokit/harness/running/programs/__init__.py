"""How a recipe's program is started, watched, and what it leaves."""
