"""Shows, compares and converts checkpoints; none is executed."""
