"""Whether two sides differ by nothing but rounding: twins of side a, and the rule."""
