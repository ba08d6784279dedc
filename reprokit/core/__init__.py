"""The judge: pure functions over records. No input or output, no clock, no global state."""

__all__: list[str] = []
