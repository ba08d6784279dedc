"""A folder for the path of another Python; what is in it says why."""

__all__: list[str] = []
