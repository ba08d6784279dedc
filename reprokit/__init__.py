"""reprokit: train twice, compare bit for bit, and say what broke.

$ reprokit reproduce cartpole_baseline
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
