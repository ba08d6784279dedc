"""reprokit: train twice, compare bit for bit, and say what broke.

The package is a verification harness around training programs. It knows recipes, runs,
goldens and verdicts; it knows nothing about any particular model or algorithm.

    $ reprokit reproduce cartpole_baseline
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
