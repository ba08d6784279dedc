"""Programs that run beside a training and change nothing: how operations round, and what a training calls."""

__all__: list[str] = []
