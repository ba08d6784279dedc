"""How operations round and what a training calls: programs that run beside a training and change nothing."""

__all__: list[str] = []
