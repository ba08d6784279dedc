"""From a lock to a container image: its base, one build, and the canonical form that its ID follows from."""

__all__: list[str] = []
