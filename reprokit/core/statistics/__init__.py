"""Statistics over the seeds of one recipe, and between recipes. Pure: numpy and scipy, generators passed in.

- ``windows``: one number from a run's curve, - ``summary``: mean, spread and middle of those numbers,
- ``intervals``: how far off an estimate may be, with the coverage that was measured at this number of seeds,
- ``learning_curves``, ``variability``, ``between_recipes``, ``hypothesis_tests``,
- ``permutation`` and ``gate``: whether new seeds differ from a reference ensemble.
"""

__all__: list[str] = []
