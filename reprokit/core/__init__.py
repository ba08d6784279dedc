"""The judge: pure functions over records. No input or output, no clock, no global state."""
