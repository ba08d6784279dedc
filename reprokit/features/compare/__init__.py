"""``reprokit compare``: whether two sides, such as two commits or two commands, give the same numbers."""
