"""Statistics over seeds that a verdict stands on. Pure: numpy and scipy, generators passed in.

- ``windows``: one number from a run's curve, - ``summary``: mean, spread and middle of those numbers,
- ``intervals``: how far off an estimate may be, with the coverage that was measured at this number of seeds,
- ``permutation`` and ``gate``: whether new seeds differ from a reference ensemble.

What only describes or compares results is in ``reprokit.features.sweeps.statistics``.
"""

__all__: list[str] = []
