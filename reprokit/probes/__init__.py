"""Programs that run next to a training, and change nothing: how operations round, what a training calls."""

__all__: list[str] = []
